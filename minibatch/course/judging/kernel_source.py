"""Checks a submitted kernel's source before any of it runs.

The judge's lab runs kernels of strangers, and trusts what it counts. So the source must not contain
anything that could reach the lab: imports, containers, classes, decorators, or attributes other
than those of `cuda`, `math` and an array's shape. This also refuses what numba could not compile.
"""

from __future__ import annotations

import ast
import math
from types import FunctionType, ModuleType

from minibatch.kernel_lab.substitutes import TYPES

STATEMENTS = (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.For, ast.While, ast.If, ast.Expr)
STATEMENTS += (ast.Pass, ast.Break, ast.Continue, ast.Return)
EXPRESSIONS = (ast.BoolOp, ast.BinOp, ast.UnaryOp, ast.Compare, ast.Call, ast.IfExp, ast.Subscript)
EXPRESSIONS += (ast.Name, ast.Constant, ast.Tuple, ast.Attribute, ast.Slice)
PARTS = (ast.expr_context, ast.boolop, ast.operator, ast.unaryop, ast.cmpop, ast.keyword)
BUILTINS = {
    each.__name__: each for each in (range, min, max, abs, int, float, bool, len, round, print)
}
OF_AN_ARRAY = ("shape", "size", "ndim")
WORDS = {
    ast.Import: "an import", ast.ImportFrom: "an import", ast.List: "a list", ast.Dict: "a dict",
    ast.Set: "a set", ast.ListComp: "a comprehension", ast.DictComp: "a comprehension",
    ast.SetComp: "a comprehension", ast.GeneratorExp: "a comprehension", ast.Lambda: "a lambda",
    ast.FunctionDef: "a function inside a function", ast.ClassDef: "a class", ast.Try: "a try",
    ast.With: "a with", ast.Raise: "a raise", ast.JoinedStr: "an f-string",
    ast.Starred: "a star", ast.Global: "a global", ast.Nonlocal: "a nonlocal",
    ast.Assert: "an assert", ast.Delete: "a del", ast.NamedExpr: "a :=",
}  # fmt: skip


class NoKernel(ValueError):
    """The source has a part that a kernel must not have: a sentence for its author."""


def kernel(
    source: str, name: str, file: str = "<kernel>", names: dict[str, object] | None = None
) -> FunctionType:
    """The function `name` of a file, with the functions that it calls, and no other part of it.

    names: `cuda` and the types; by default those of the kernel lab. Raises NoKernel,
    NotImplementedError for a stub, SyntaxError, AttributeError if there is no such function.
    """
    tree = ast.parse(source, file)
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    if name not in functions:
        raise AttributeError(
            f"[kernel_not_defined] {file} does not define {name}, the name in the exercise"
        )
    constants = _constants(tree)
    wanted, names = [name], {"math": math, **BUILTINS, **(names or for_the_lab())}
    for each in wanted:
        node = functions[each]
        _check(node, names.keys() | constants.keys() | functions.keys())
        used = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
        wanted += [other for other in functions if other in used and other not in wanted]
    for each in wanted:
        functions[each].decorator_list, functions[each].returns = [], None
        for argument in functions[each].args.args:
            argument.annotation = None
    module = ast.Module([functions[each] for each in wanted], [])
    names |= constants
    names["__builtins__"] = {}
    exec(compile(module, file, "exec"), names)
    for helper in wanted[1:]:
        if hasattr(names["cuda"], "jit"):  # numba's own, which cannot call a plain function
            names[helper] = names["cuda"].jit(device=True)(names[helper])
    return names[name]


def for_the_lab() -> dict[str, object]:
    """`cuda` and the types, as the lab replaces them."""
    cuda = ModuleType("cuda")
    cuda.syncthreads = None  # the lab recognizes `cuda` by this attribute
    return {"cuda": cuda, **TYPES}


def for_the_compiler() -> dict[str, object]:
    """`cuda` and the types, as numba compiles them."""
    from numba import cuda, types

    return {"cuda": cuda} | {name: getattr(types, name) for name in TYPES if name != "bool"}


def _constants(tree: ast.Module) -> dict[str, object]:
    """The constants at the top of the file: NAME = a number."""
    found = {}
    for node in tree.body:
        is_simple = isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
        if is_simple:
            try:
                value = ast.literal_eval(node.value)
            except ValueError:
                value = None
            if isinstance(value, int | float):
                found[node.targets[0].id] = value
    return found


def _check(function: ast.FunctionDef, known: set[str]) -> None:
    arguments = function.args
    if arguments.defaults or arguments.vararg or arguments.kwarg or arguments.kwonlyargs:
        raise NoKernel(
            "[kernel_has_defaults] "
            f"{function.name} must have plain arguments, without defaults or *"
        )
    own = {argument.arg for argument in arguments.args}
    body = [node for statement in function.body for node in ast.walk(statement)]
    for statement in function.body:
        _raises_not_implemented(statement)
    own |= {n.id for n in body if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    roots = {id(n.value) for n in body if isinstance(n, ast.Attribute)}
    types = {id(n.annotation) for n in body if isinstance(n, ast.AnnAssign)}
    for node in body:
        if not isinstance(node, STATEMENTS + EXPRESSIONS + PARTS):
            what = WORDS.get(type(node), type(node).__name__)
            raise NoKernel(
                "[not_for_the_compiler] "
                f"line {_line(node)}: numba does not compile {what} in a kernel"
            )
        if isinstance(node, ast.Attribute):
            _check_attribute(node)
        if isinstance(node, ast.Name) and id(node) not in types:
            _check_name(node, own, known, id(node) in roots)
        is_text = isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)
        if is_text and not any(isinstance(s, ast.Expr) and s.value is node for s in body):
            raise NoKernel(
                "[kernel_has_strings] "
                f"line {node.lineno}: a kernel cannot use strings: print only numbers, or nothing"
            )


def _raises_not_implemented(statement: ast.stmt) -> None:
    if isinstance(statement, ast.Raise) and "NotImplementedError" in ast.unparse(statement):
        call = statement.exc
        raise NotImplementedError(call.args[0].value if getattr(call, "args", None) else "")


def _check_attribute(node: ast.Attribute) -> None:
    root = node
    while isinstance(root, ast.Attribute):
        root = root.value
    of_a_module = isinstance(root, ast.Name) and root.id in ("cuda", "math")
    if not isinstance(node.ctx, ast.Load) or node.attr.startswith("_"):
        raise NoKernel(
            "[private_attribute_in_a_kernel] "
            f"line {node.lineno}: a kernel may not use {ast.unparse(node)}"
        )
    if not of_a_module and node.attr not in OF_AN_ARRAY:
        raise NoKernel(
            "[attribute_in_a_kernel] "
            f"line {node.lineno}: {ast.unparse(node)}: a kernel may use only attributes of cuda "
            "and math, and an array's shape"
        )


def _check_name(node: ast.Name, own: set[str], known: set[str], is_root: bool) -> None:
    if node.id.startswith("__"):
        raise NoKernel(
            f"[private_name_in_a_kernel] line {node.lineno}: a kernel may not use {node.id}"
        )
    if isinstance(node.ctx, ast.Store):
        if node.id in ("cuda", "math", *BUILTINS, *TYPES):
            raise NoKernel(
                "[name_has_a_meaning] "
                f"line {node.lineno}: {node.id} already has a meaning here; choose another "
                "name"
            )
    elif node.id in ("cuda", "math") and not is_root:
        raise NoKernel(
            f"[module_is_no_value] line {node.lineno}: {node.id} is a module, not a value; write "
            f"{node.id}. and a name in it"
        )
    elif node.id not in own | known:
        raise NoKernel(
            "[unknown_name_in_a_kernel] "
            f"line {node.lineno}: {node.id} is not known in a kernel. Known are its arguments, "
            f"cuda, math, {', '.join(BUILTINS)}, types such as float32, and numbers and functions "
            "of this file"
        )


def _line(node: ast.AST) -> int:
    return getattr(node, "lineno", 0)
