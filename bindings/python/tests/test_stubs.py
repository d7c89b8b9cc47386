"""Tests that the type stubs name exactly the members of the extension module."""

import ast
import pathlib

import pyringforge
from pyringforge import _native


def members(names):
    return {name for name in names if not name.startswith("_")}


def test_stubs_match_the_module():
    path = pathlib.Path(pyringforge.__file__).with_name("_native.pyi")
    stubs = ast.parse(path.read_text())
    classes = {node.name: node for node in stubs.body if isinstance(node, ast.ClassDef)}
    functions = {node.name for node in stubs.body if isinstance(node, ast.FunctionDef)}
    assert members(dir(_native)) == set(classes) | functions
    for name, node in classes.items():
        declared = {item.name for item in node.body if isinstance(item, ast.FunctionDef)}
        declared |= {item.target.id for item in node.body if isinstance(item, ast.AnnAssign)}
        assert members(dir(getattr(_native, name))) == members(declared), name


def test_all_names_are_documented():
    assert (pathlib.Path(pyringforge.__file__).with_name("py.typed")).exists()
    for name in pyringforge.__all__:
        if name != "__version__":
            assert getattr(pyringforge, name).__doc__, name
