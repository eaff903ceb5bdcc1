"""What becomes of a sweep's measurements: the verdict, the tables of the pages and the pictures, from figures made up here."""

import importlib.util
import json
import re
import subprocess
import sys
import xml.etree.ElementTree

import pytest

from conftest import ROOT

BENCH = ROOT / "bench"
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def bench(monkeypatch):
    """A program of bench/, as a module: tests have a table.py, too."""
    monkeypatch.syspath_prepend(BENCH)

    def load(name):
        spec = importlib.util.spec_from_file_location(f"bench_{name}", BENCH / f"{name}.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return load


def point(family, dtype, rows, cols, ours, compiled=None, wrong=False):
    us = {"ours": ours, "copy": 100.0} | ({"compile": compiled} if compiled else {})
    name = f"{family} {dtype} {rows} x {cols}"
    return {"name": name, "family": family, "dtype": dtype, "rows": rows, "cols": cols, "us": us, "wrong": wrong, "errors": {"ours": 0.5}}


# 256 MB is 64,000,000 elements of f32.
ROWS = [point("softmax", "f32", 64000, 1000, 118.0, 114.0), point("softmax", "f32", 64000, 999, 118.0, 118.0), point("softmax", "f32", 63999, 1000, 118.0, 118.0),
        point("softmax", "f32", 256, 262144, 125.0, 250.0), point("softmax", "f32", 256, 262147, 200.0, 250.0), point("row_sum", "f32", 65536, 4096, 50.0, 48.0),
        point("row_sum", "bf16", 65536, 4096, 117.0), point("row_sum", "bf16", 65536, 1024, 117.0, 113.7, wrong=True)]  # fmt: skip


def test_verdict(bench):
    """Limits of length, of size and of each ratio, on both sides; the worst comes first."""
    assert bench("verdict").text(ROWS).splitlines() == [
        "1 wrong, of 8",
        "    row_sum bf16 65536 x 1024: error 5.0e-01",
        "2 below 85 % of a copy, of 4 (rows of 1000 to 262144, 256 MB or more)",
        "    softmax f32 256 x 262144: 80.0 %",
        "    softmax f32 64000 x 1000: 84.7 %",
        "2 above 1.03 of torch.compile's time, of 7",
        "    row_sum f32 65536 x 4096: 1.042",
        "    softmax f32 64000 x 1000: 1.035",
    ]


def test_table_of_the_sweeps(bench):
    table, readme = bench("table"), (ROOT / "docs/performance.md").read_text()
    about = {"device": "GPU", "torch": "2", "ours": "cuda: GPU, sm_90a, driver 13.0, NVRTC 13.0 from /a/b", "date": "2026-01-01"}
    text = table.sweep_table([{**about, "rows": ROWS[:6]}, {**about, "rows": ROWS[6:]}])
    assert text.splitlines()[0] == "One GPU (sm_90a, driver 13.0, NVRTC 13.0, torch 2, 2026-01-01):"
    assert text.splitlines()[4:] == [
        "| softmax | f32 | 5 | 80 (256 x 262144) | 2 | 1.04 (64000 x 1000) | 1 |",
        "| row_sum | f32 | 1 | 200 (65536 x 4096) | 0 | 1.04 (65536 x 4096) | 1 |",
        "| row_sum | bf16 | 2; 1 WRONG | 85 (65536 x 4096) | 0 | 1.03 (65536 x 1024) | 0 |",
    ]
    new = table.replaced(readme, table.BEGIN_SWEEPS, text)
    assert table.BEGIN_SWEEPS + text + table.END in new
    assert new.partition(table.BEGIN_SWEEPS)[0] == readme.partition(table.BEGIN_SWEEPS)[0]


def write(path, over, rows):
    path.write_text(json.dumps({"device": "GPU", "torch": "2", "date": "2026-01-01", "over": over, "rows": rows}))
    return path


def test_pictures(tmp_path):
    """One for each family, a panel for each dtype of each file; every point lies in its panel, odd rows as rings beside the line."""
    lengths = [point("softmax", t, 2**27 // n, n, 110.0, 300.0) for t in ("f32", "bf16") for n in (128, 257, 4096, 65537, 524288)]
    batches = [point("softmax", "f32", n, 4096, 90.0, 100.0) for n in (1, 64, 65536)]
    files = [write(tmp_path / "a.json", "cols", lengths + [point("row_sum", "f16", 8, 512, 95.0)]), write(tmp_path / "b.json", "rows", batches)]
    subprocess.run([sys.executable, BENCH / "plot.py", *files, "--output", tmp_path / "out"], check=True, capture_output=True)
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == ["row_sum.svg", "softmax.svg"]
    image = xml.etree.ElementTree.parse(tmp_path / "out" / "softmax.svg").getroot()
    width, height = int(image.get("width")), int(image.get("height"))
    dots = list(image.iter(SVG + "circle"))
    assert len(dots) == 2 * len(lengths + batches)
    assert all(0 < float(d.get("cx")) < width and 0 < float(d.get("cy")) < height for d in dots)
    rings = [d for g in image.iter(SVG + "g") if g.get("fill") == "white" for d in g.iter(SVG + "circle")]
    assert len(rings) == 2 * 2 * 2
    assert [len(p.get("points").split()) for p in image.iter(SVG + "polyline")] == [3] * 6
    texts = [t.text for t in image.iter(SVG + "text")]
    assert "GPU, torch 2, 2026-01-01" in texts and "torch.compile" in texts and "torch eager" not in texts
    assert [t for t in texts if "over the" in t] == ["f32, over the length of the row, 256 MiB", "bf16, over the length of the row, 256 MiB",
                                                    "f32, over the number of rows of 4096"]  # fmt: skip


def test_pictures_of_the_page():
    """Each is there, is an image that a browser takes, and is small."""
    names = re.findall(r"!\[.+\]\((.*?)\)", (ROOT / "docs/performance.md").read_text())
    assert len(names) == 8
    for path in map((ROOT / "docs").joinpath, names):
        assert xml.etree.ElementTree.parse(path).getroot().tag == SVG + "svg" and path.stat().st_size < 32768


def test_height_is_the_share_of_a_copy(bench):
    """100 % lies on the line of the copy, 0 at the bottom, whatever the dtype."""
    plot = bench("plot")
    panel = plot.Panel(0, 0, [1024, 4096], 120)
    assert panel.y(0) == plot.PANEL_HEIGHT and panel.y(120) == 0 and panel.x(1024) == 0 and panel.x(4096) == plot.PANEL_WIDTH and panel.x(2048) == plot.PANEL_WIDTH / 2
    assert plot.percent(point("softmax", "f32", 1, 8, 125.0), "ours") == 80
