"""The README shows code that is compiled and run, and commands that exist."""

import re

from conftest import ROOT

README = (ROOT / "README.md").read_text()


def test_example_is_the_quickstart():
    block = re.search(r"```c\n(.*?)```", README, re.S).group(1)
    assert len(block.splitlines()) > 15
    assert block in (ROOT / "examples/01_quickstart.c").read_text()


def test_commands_exist():
    makefile = (ROOT / "Makefile").read_text()
    for target in re.findall(r"^make (\S+)", README, re.M):
        assert re.search(rf"^{target}:", makefile, re.M), target
