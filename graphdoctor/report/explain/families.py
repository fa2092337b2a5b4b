"""Why a graph break of Dynamo's registry breaks and what helps, by families of ids. Pure.

``graphdoctor.breaks.explanations`` has words for the commonest ids; the other 500 share a few causes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from graphdoctor.breaks.registry import Entry


@dataclass(frozen=True)
class Family:
    """Graph breaks with one cause: those whose type or explanation holds ``pattern``."""

    pattern: str
    what: str
    why: str
    fix: str


#: The first family whose pattern is found holds, so those with narrow patterns come first.
FAMILIES = (
    Family(
        r"torch\._dynamo\.(graph_break|skip_frame|step_unsupported)|torch\.compiler\.disable|ComptimeContext|"
        r"leaf function",
        "The code has a deliberate graph break here.",
        "A graph break is what this call or decorator is for.",
        "Remove the call or the decorator that asks for it, or call the function outside the compiled code.",
    ),
    Family(
        r"recompile limit|RestartAnalysis",
        "The function reached the recompile limit.",
        "Each version of the graph holds for the inputs it was traced with. Dynamo gives up on a function that needs "
        "too many versions, and runs it uncompiled.",
        "Find what varies with TORCH_LOGS=recompiles: mark sizes with torch._dynamo.mark_dynamic, and pass numbers "
        "that vary as tensors.",
    ),
    Family(
        r"HOP\b|[Hh]igher.?[Oo]rder|invoke_subgraph|torch\.(cond|while_loop|scan|associative_scan|map)\b|strict.mode|"
        r"wrap_with_|hints_wrapper|out_dtype|executorch|WrapHigherOrder|check_meta_consistency|rewrite_signature|"
        r"set_subgraph_inputs|non-single Tensor return",
        "A higher-order operator was given what cannot become a graph of its own.",
        "The functions given to a higher-order operator (torch.cond, checkpointing, scan, a custom autograd.Function) "
        "become graphs of their own. Such a graph has to be pure: tensors in, tensors out, no mutation from outside.",
        "Give the operator plain functions of tensors: pass all they use as operands, return new tensors of the same "
        "structure from every branch, and keep side effects outside.",
    ),
    Family(
        r"[Ss]parse|[Nn]ested.?[Tt]ensor|[Tt]ensor subclass|as_subclass|subclass default constructor|"
        r"__torch_function__|torch function mode",
        "The tensor is of a special kind: sparse, nested, or of a class of its own.",
        "Dynamo records dense tensors with a known layout; of tensors with a layout or with methods of their own it "
        "records a part only.",
        "Use dense tensors inside the compiled code, and convert before and after it.",
    ),
    Family(
        r"autograd|[Bb]ackward|requires_grad|retain_grad|grad_fn|gradient|\bhook|register_hook|saved_tensors|"
        r"RemovableHandle|_ImperativeEngine|functorch|functorh|optimizer",
        "Autograd is used, or steered, in a way that is not traced.",
        "Autograd keeps its state (grad_fn, hooks, gradients) on tensors while code runs. A graph is recorded before "
        "that, from the forward pass alone, and the backward pass is derived from it.",
        "Compile the forward pass and the loss; leave gradients, hooks and changes of requires_grad to eager code "
        "around it.",
    ),
    Family(
        r"[Dd]ata.dependent|item\(\)|tolist|[Dd]ynamic (shape|slicing)|non-scalar tensor|repr\(\) on tensor|SymInt|"
        r"SymNode|guard_scalar|symbolic|index\(Tensor\)|data pointer|Data pointer|one_hot|sets? (of|with) tensors",
        "A Python value or a size depends on the contents of a tensor.",
        "A graph is recorded without data. Dynamo knows the shape and dtype of a tensor and not its contents, so it "
        "has to end the graph where Python needs a value or a size that comes out of them.",
        "Stay with tensor operations (torch.where, masks, torch.cond), or compute the number outside the compiled "
        "code and pass it in.",
    ),
    Family(
        r"sourceless|[Rr]econstruct|escaped|without (a )?source|no source|leaked|in output|\bweakref",
        "An object cannot be carried across the end of a graph.",
        "What a compiled function returns or leaves behind is built again by code that Dynamo writes after the graph. "
        "It does not know how to build this object.",
        "Make the object outside the compiled code and pass it in, or return the tensors that it holds instead.",
    ),
    Family(
        r"[Uu]nsupported context manager|contextlib",
        "A context manager cannot be traced.",
        "A context manager changes state when it is entered and when it is left. Dynamo enters only those that it has "
        "a rule for, or whose code it can follow.",
        "Enter it outside the compiled code, or take the `with` out of the part that is compiled.",
    ),
    Family(
        r"[Gg]raph break (in|under)|partial graph|Comprehension|LOAD_BUILD_CLASS|__build_class__",
        "There is a break where Dynamo cannot go on after it.",
        "After a break Dynamo has to go on in the middle of the function. It cannot do so inside a `with`, a loop, a "
        "comprehension or a class body, so this place breaks the graph, or takes the whole function out of "
        "compilation.",
        "Remove the break inside the block, or move the block, or the part that breaks, out of the compiled function.",
    ),
    Family(
        r"[Ff]ake.?[Tt]ensor|meta kernel|fx\.?Node|FX node|PT2-compliant|op packet|real value|broadcast|"
        r"[Dd]evice mismatch|\bout=|example.value|Backend compiler",
        "An operator fails while it is traced without data.",
        "Dynamo runs every operator once on tensors that have a shape and no data. The operator failed there: it has "
        "no implementation for such tensors, or the shapes, dtypes or devices do not fit.",
        "Run the line in eager with the same inputs and correct the error that shows up there. A custom operator needs "
        "a fake implementation (torch.library.register_fake).",
    ),
    Family(
        r"[Oo]paque",
        "An opaque object (torch.Generator, or a type registered as opaque) is used in a way that is not traced.",
        "An opaque object enters a graph whole, as an input. Dynamo looks inside as far as its registration says.",
        "Make it before the compiled call and pass it in; use custom operators in place of its attributes and methods.",
    ),
    Family(
        r"(?<!C )\b(nb|sq|tp|mp)_|missing_mp|(?<!hash)_impl\b|__[gs]etitem__|__iter__",
        "An operation of Python is not traced for a type.",
        "Python's operations (indexing, iteration, len(), arithmetic, comparison, repr()) are traced by a rule for "
        "each type. Dynamo has none for this operation on this type.",
        "Do the operation on a plain list, dict, number or tensor, or outside the compiled code.",
    ),
    Family(
        r"C/C\+\+|\bC (__|tp_|comparison|slot|extension|method descriptor)|C-level|in C\b|not implemented in python|"
        r"TorchScript|torch\.jit|ScriptModule|JIT|FakeScriptObject|marked as skipped|builtin|numpy|ndarray|\bC slot|"
        r"[Tt]riton|torch\._C|tma_descriptor|logging|debugging function",
        "A function or object is not made of Python code that Dynamo can follow.",
        "Dynamo follows Python bytecode. Code in C, in another runtime, or on its list of skipped functions has none "
        "to follow, and is recorded only where Dynamo has a rule for it.",
        "Use the torch operation that does the same, call it outside the compiled code and pass the result in, or "
        "wrap it as an operator with torch.library.custom_op.",
    ),
    Family(
        r"distributed|FSDP|P2P|collective|[Pp]lacement|stream|event method|share_memory|get_device_module",
        "A part of torch.distributed, or of a device, is used in a way that is not traced.",
        "Communication, streams and memory shared between processes are effects outside the graph. Only their "
        "functional forms can be recorded.",
        "Use the functional collectives or the supported form of the call, or move it out of the compiled code.",
    ),
    Family(
        r"nn\.Module|nn\.Parameter|NNModule",
        "A module or a parameter is used in a way that is not traced.",
        "Dynamo reads modules and parameters as fixed parts of the model, set up before the compiled code runs.",
        "Build and change modules and parameters in __init__, or before the compiled call.",
    ),
    Family(
        r"setattr|__delattr__|__setattr__|[Mm]utat|[Ss]ide effect|set_\(\)|resize|In-?place|inplace op|random_|"
        r"uniform_|__class__ assignment|attribute assignment|immutable|RNG",
        "Something is changed in a way that is not traced.",
        "While tracing Dynamo records changes to objects and makes them after the graph has run. This change it "
        "cannot record.",
        "Make the change outside the compiled code, or compute a new object instead of changing this one.",
    ),
    Family(
        r"non-const|not a Python constant|Not a Python constant|constant|[Uu]nhashable|hash",
        "A value has to be known while tracing, and is not.",
        "Dynamo needs a Python constant here: a value that is known while tracing, such as a number, a string or a "
        "type.",
        "Use a literal or a plain number or string, computed without tensors; for keys use strings or numbers.",
    ),
    Family(
        r"[Ee]xception|[Ee]rror|raise|undefined|deleted|[Uu]ninitialized|Length mismatch|not found|could not find|"
        r"failed to find|[Uu]npack|bad |improper|[Ii]mport |bind arguments|> 1 arg|([Mm]issing|[Uu]nsupported|"
        r"Unhandled|no) (arg|kwarg)",
        "The code fails while it is traced.",
        "The line fails, or seems to fail, while it is traced: Dynamo calls it with the arguments it has, and met an "
        "exception or a value of the wrong kind.",
        "Run the same inputs in eager and correct the error that shows up there; if there is none, move the line out "
        "of the compiled code.",
    ),
)

#: The family of all other breaks: Dynamo interprets Python by rules of its own, which do not cover everything.
OTHER = Family(
    "",
    "Dynamo does not know how to trace this Python code.",
    "Dynamo runs Python code through rules of its own, one for each kind of object and operation. It has none for "
    "this one, so it ends the graph, lets Python run the line, and begins a new graph after it.",
    "Write the line with operations that Dynamo traces (plain functions, lists, dicts, tensors), or move it out of "
    "the compiled code.",
)

#: Dynamo's hints on the kind of a break (``Entry.kinds``).
KINDS = {
    "user-error": 'Usually an error in the code that eager shows too; try `torch.compiler.set_stance("force_eager")`.',
    "dynamo-bug": "Usually a bug of Dynamo and no fault of your code; a newer torch may have the fix.",
    "difficult": "Hard to debug; its developers ask for a report.",
    "fundamental": "It will not go away in a later torch: the code has to change.",
    "supportable": "A gap that a later torch may close.",
    "earlier-break": "Often the consequence of an earlier graph break; correct that one first.",
}


def family(entry: Entry) -> Family:
    """The family of ``entry``, by its type, else by its explanation."""
    for text in (entry.gb_type, entry.explanation):
        for candidate in FAMILIES:
            if re.search(candidate.pattern, text):
                return candidate
    return OTHER
