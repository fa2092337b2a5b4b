import pytest

from graphdoctor.breaks.recompiles.guards import read


@pytest.mark.parametrize(
    ("reason", "kind", "name", "dimension"),
    [
        ("0/0: tensor 'x' size mismatch at index 0. expected 4, actual 5", "size", "x", 0),
        ("0/0: tensor 'L['x']' size mismatch at index 1. expected 4, actual 5", "size", "x", 1),
        ("0/0: tensor 'x' stride mismatch at index 0. expected 8, actual 1", "stride", "x", None),
        ("0/1: tensor 'x' rank mismatch. expected 1, actual 2", "rank", "x", None),
        ("0/0: tensor 'x' requires_grad mismatch. expected requires_grad=0", "requires_grad", "x", None),
        ("0/0: len(xs) == 1      # return x  # model.py:7 in f", "length", "xs", None),
        ("0/0: mask is None      # return x  # model.py:7 in f", "presence", "mask", None),
        (
            "0/0: self.step == 0    # self.step += 1  # a/model.py:18 in forward (HINT: ...)",
            "attribute",
            "self.step",
            None,
        ),
        ("0/0: G['COUNT'] == 0   # COUNT += 1  # model.py:18 in f", "global", "G['COUNT']", None),
        ("0/0: n == 2            # return x[:n]  # model.py:8 in f", "value", "n", None),
        ("0/0: 2 <= x.size()[0]  # x * 2  # model.py:8 in f", "size", "x", 0),
        ("0/0: GLOBAL_STATE changed: grad_mode ", "state", None, None),
        ("0/0: Cache line invalidated because L['x'] got deallocated", "lifetime", "x", None),
        ("0/0: ___check_obj_id(e, 1403), type=<enum 'E'>  # return x  # model.py:7 in f", "identity", "e", None),
        ("0/0: ___check_type_id(a, 1403), type=<class 'float'>", "type", "a", None),
        ("0/0: expected type of 'x' to be a tensor type, ' but found <class 'P'>", "type", "x", None),
        ("0/0: expected type of 'x' to be a tensor type, ' but found <class 'NoneType'>", "presence", "x", None),
        ("0/0: self._modules['drop'].training == True  # x  # model.py:7 in f", "mode", "self.drop.training", None),
        ("0/0: self.opt is None   # x  # model.py:7 in f", "presence", "self.opt", None),
        ("0/0: ___dict_contains('scale', self.__dict__)", "attribute", "self.scale", None),
        ("0/0: len(self._modules['layers']._modules) != 1", "length", "self.layers", None),
        ("0/0: (n % 5) != 0  # if n % 5  # model.py:7 in f (_dynamo/x.py:1 in e)", "value", "(n % 5) != 0", None),
        ("0/0: 0 <= n <= 4  # x  # model.py:7 in f (a/b.py:1 in c)", "value", "0 <= n <= 4", None),
        ("0/0: x.size()[0] > y.size()[0]  # x  # model.py:7 in f (a/b.py:1 in c)", "size", "x", 0),
        ("0/0: (x.size()[1] % 2) != 0  # x  # model.py:7 in f (a/b.py:1 in c)", "size", "x", 1),
        ("0/0: tensor '___from_numpy(a)' size mismatch at index 0. expected 8, actual 1", "size", "a", 0),
        ("0/0: ___stack0 == 'text'  # x  # model.py:7 in f", "value", None, None),
        ("0/0: pattern == 'n -> 1 n'  # x  # model.py:7 in f", "value", "pattern", None),
        ("0/2: 2 <= a.storage_offset()  # a * 2  # model.py:7 in f", "stride", "a", None),
        ("0/0: 'NoneType' object has no attribute 'size'", "presence", None, None),
        ("0/0: 'float' object has no attribute 'size'", "type", None, None),
        ("0/0: tuple index out of range", "rank", None, None),
        ("0/0: list index out of range", "length", None, None),
        ("0/0: ___check_obj_id(f.__code__, 1403), type=<class 'code'>", "identity", "f", None),
        ("0/0: CodeGuardAccessor: Not a function on f.__code__", "type", "f", None),
        ("0/0: getattr failed on source o.cfg", "attribute", "o.cfg", None),
        ("0/0: KeyError on meta['scale']", "length", "meta['scale']", None),
        ("0/0: IndexError on xs[2]", "length", "xs[2]", None),
        ("0/0: something new", "other", None, None),
    ],
)
def test_reason_is_classified(reason: str, kind: str, name: str | None, dimension: int | None) -> None:
    guard = read(reason)
    assert (guard.kind, guard.name, guard.dimension) == (kind, name, dimension)
    assert guard.words


def test_a_variable_that_a_function_closes_over_is_named_as_in_the_source() -> None:
    cell = "f.__closure__[0].cell_contents"
    assert read(f"0/0: {cell} == 0").words == f"{cell} is no longer 0"
    hinted = read(f'0/0: {cell} == 0   # return x * k  # net.py:9 in inner (HINT: guard on "k")')
    assert (hinted.name, hinted.words) == (cell, "`k`, which f closes over, is no longer 0")


def test_place_and_words() -> None:
    guard = read(
        "0/0: self.step == 0    # self.step += 1  # a/model.py:18 in forward (HINT: x)\nUser stack trace:\n  ..."
    )
    assert (guard.path, guard.line, guard.text) == ("a/model.py", 18, "self.step == 0")
    assert guard.words == "the attribute self.step is no longer 0"


def test_the_place_is_the_users_line_and_not_that_of_torch_behind_it() -> None:
    guard = read(
        "0/0: x.size()[1] != 6  # bias[:, :T]  # a/model.py:63 in forward (_prims_common/__init__.py:288 in c)"
    )
    assert (guard.path, guard.line, guard.text) == ("a/model.py", 63, "x.size()[1] != 6")


def test_texts_of_dynamo_and_python_become_words() -> None:
    words = [
        read(reason).words
        for reason in (
            "0/0: 'NoneType' object has no attribute 'size'",
            "0/0: 'float' object has no attribute 'size'",
            "1/1: tuple index out of range",
            "1/1: list index out of range",
            "0/2: 2 <= a.storage_offset()",
            "0/0: not G['METRICS']",
        )
    ]
    assert words == [
        "a value that had `size` when compiled is None now",
        "a value that had `size` when compiled is of type float now",
        "a tensor, or the one that it is a view of, has fewer dimensions than when compiled",
        "a list has fewer items than when compiled",
        "the storage offset of a no longer satisfies 2 <= a.storage_offset()",
        "METRICS is no longer empty",
    ]


@pytest.mark.parametrize(
    ("expected", "actual", "kind", "words"),
    [
        (
            "CPU, ADInplaceOrView, AutogradCPU",
            "CPU",
            "state",
            "x is a tensor of torch.inference_mode, and was none when ",
        ),
        (
            "CPU",
            "CPU, ADInplaceOrView, AutogradCPU",
            "state",
            "x is no tensor of torch.inference_mode, and was one when ",
        ),
        ("CPU, AutogradCPU", "CUDA, AutogradCUDA", "type", "the dispatch key set of x changed: "),
    ],
)
def test_a_tensor_of_inference_mode_is_named(expected: str, actual: str, kind: str, words: str) -> None:
    text = f"expected DispatchKeySet({expected}), actual DispatchKeySet({actual})"
    guard = read(f"0/0: tensor 'x' dispatch key set mismatch. {text}")
    assert guard.kind == kind and guard.words.startswith(words)


def test_module_paths_are_readable() -> None:
    guard = read(
        "0/0: tensor 'self._modules['lin']._parameters['bias']' requires_grad mismatch. expected requires_grad=1"
    )
    assert guard.name == "self.lin.bias"


def test_modules_of_a_list_are_read_as_items() -> None:
    guard = read("0/0: self._modules['layers']._modules['3'].i == 0    # self.i += 1  # model.py:9 in forward")
    assert guard.name == "self.layers[3].i"


def test_addresses_are_left_out_because_they_differ_from_run_to_run() -> None:
    first, second = (read(f"0/0: ___check_obj_id(e, {n}), type=<enum 'E'>") for n in (140623920362384, 140623920362999))
    assert first == second
    assert "1406" not in first.text


def test_zero_one_specialisation_is_told_apart() -> None:
    guard = read("0/1: 2 <= x.size()[0]  # y = x * 2  # model.py:7 in f (user code shown is first use)")
    assert guard.zero_one
    assert "size 0 or 1 in dimension 0" in guard.words
    assert not read("0/1: 3 <= x.size()[0]  # y = x * 2  # model.py:7 in f (x.py:1 in g)").zero_one


def test_the_user_stack_has_whole_paths() -> None:
    guard = read(
        "0/0: n == 2    # return x[:n]  # pkg/helper.py:5 in helper\n"
        'User stack trace:\n  File "/p/model.py", line 7, in f\n    x\n  File "/p/pkg/helper.py", line 5, in helper\n'
    )
    assert guard.stack == (("/p/model.py", 7), ("/p/pkg/helper.py", 5))


@pytest.mark.parametrize(
    "reason",
    [
        "0/0: L['___stack0'].size()[0] == 4",
        "0/0: zuf0 > 2.0",
        "0/1: tensor '___stack1' rank mismatch. expected 2, actual 3",
    ],
)
def test_names_that_dynamo_made_up_are_described(reason: str) -> None:
    words = read(reason).words
    assert "___stack" not in words and "zuf" not in words
    assert "a value from before a graph break" in words or "a number computed from tensor data" in words


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        (
            "0/0: ___stack0[1].size()[0] <= ___stack0[0].size()[0]  # x  # model.py:7 in f",
            "the sizes of values from before a graph break changed in relation to each other",
        ),
        ("0/0: ___stack0[1].size()[0] == 4", "the size of a value from before a graph break in dimension 0"),
        ("0/0: ___stack0 == 0.27560096979141235", "a value that was computed before a graph break is no longer 0.2756"),
        ("0/0: len(G['__import_einops_dot__backends']._types) == 1", "the length of einops._backends._types is"),
    ],
)
def test_names_of_dynamo_are_not_shown(reason: str, words: str) -> None:
    assert read(reason).words.startswith(words)


@pytest.mark.parametrize(
    ("operator", "words"),
    [
        ("is", "net.head.bias and params['bias'] were one object when compiled, and are no longer"),
        ("is not", "net.head.bias and params['bias'] were two objects when compiled, and are one now"),
    ],
)
def test_whether_two_names_stand_for_one_object_is_no_number(operator: str, words: str) -> None:
    guard = read(f"0/0: L['net']._modules['head']._parameters['bias'] {operator} L['params']['bias']  # tensor")
    assert (guard.kind, guard.name, guard.words) == ("identity", "net.head.bias", words)


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        (
            "0/0: (1.0 + ((-1)*L['self'].dp.p)) == 0.8999999985098839",
            "self.dp.p changed: the code was compiled for (1.0 + ((-1)*self.dp.p)) == 0.9",
        ),
        ("0/0: L['n'] > 4", "n changed: the code was compiled for n > 4"),
        ("0/0: L['xs'][0] > 4", "xs[0] changed: the code was compiled for xs[0] > 4"),
        ("0/0: L['a'] + L['b'] < 3", "a + b < 3 no longer holds"),
        ("0/0: Max(L['a'], L['b']) < 3", "Max(a, b) < 3 no longer holds"),
    ],
)
def test_a_relation_of_one_number_names_it(reason: str, words: str) -> None:
    assert read(reason).words == words


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("0/0: not ___dict_contains((8, 8), L['self']._cache)", "self._cache did not hold (8, 8) when compiled"),
        ("0/0: ___dict_contains('a', L['tables'])", "tables held 'a' when compiled"),
    ],
)
def test_a_key_of_a_dict_is_named(reason: str, words: str) -> None:
    guard = read(reason)
    assert (guard.kind, guard.words) == ("length", words)


def test_an_attribute_of_self_where_a_wrapper_is_compiled() -> None:
    reason = "0/0: args[0].config.problem_type is None      # {}  # site-packages/lib/model.py:7 in forward"
    assert read(reason.format("if self.config.problem_type is None:")).is_kept
    assert not read(reason.format("if batch.problem_type is None:")).is_kept
    assert read("0/0: self.opt is None   # x  # model.py:7 in f").is_kept
