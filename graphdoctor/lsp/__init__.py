"""The language server: findings of the static pass while a file is edited. Never runs code."""
