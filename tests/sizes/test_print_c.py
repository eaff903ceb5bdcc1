"""The C forms of random expressions, compiled: they have the values that ind_expr_eval gives, for negative operands too."""

import subprocess

from conftest import make


def test_printed_c_has_the_values_of_the_evaluator(tmp_path):
    program = make("build/tests/unit/test_expr_text")
    text = subprocess.run([program, "--emit", "400"], capture_output=True, text=True, check=True, timeout=100).stdout
    assert text.count("check(") > 1000, text[-2000:]
    (tmp_path / "printed.c").write_text(text)
    sanitize = ["-fsanitize=undefined", "-fno-sanitize-recover=undefined"]
    built = subprocess.run(["cc", "-std=c11", "-w", *sanitize, "printed.c", "-o", "printed"], cwd=tmp_path, timeout=200)
    assert built.returncode == 0
    ran = subprocess.run([tmp_path / "printed"], capture_output=True, text=True, timeout=60)
    assert ran.returncode == 0, (ran.stdout + ran.stderr)[-4000:]
