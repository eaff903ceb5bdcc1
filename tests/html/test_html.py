"""What a module says of itself: structs against JSON, and the page of `ind emit --html` in a real browser: its values against
those of the library at several sizes, clicks, links, text that would do harm if it were taken for HTML."""

import json
import random
import re
import subprocess

import pytest
from pages import HARM, MINILM, browser, page, pages  # noqa: F401

from conftest import ROOT

# ---- structs and JSON


def test_edges_equal_json(page):
    edges = page.json("schedule")["edges"]
    rows = [row[1:] for row in page.explain(page.first) if row[0] == "edge"]
    assert len(edges) == len(rows) == int(next(r[1] for r in page.explain(page.first) if r[0] == "edges")) > 0
    keys = ["from", "to", "from_results", "to_results", "from_kernel", "to_kernel", "buffer", "tensor", "vertical", "fused", "code", "reason", "bytes"]
    for edge, row in zip(edges, rows):
        assert [str(int(edge[k]) if isinstance(edge[k], bool) else edge[k]) for k in keys] == row[:13]
        assert list(edge) and set(edge) == set(keys)
        assert edge["fused"] == edge["code"].startswith("FUSED_")


def test_codes_are_the_table(page):
    table = re.search(r"#define IND_FUSION_REASONS\(X\)(.*?)\n\n", (ROOT / "inductor_sched.h").read_text(), re.S).group(1)
    reasons = dict(re.findall(r'X\((\w+),\s*"(.*?)"\)', table))
    edges = page.json("schedule")["edges"]
    assert {(e["code"], e["reason"]) for e in edges} <= set(reasons.items()) and len(reasons) > 15


def test_kernels_equal_json(page):
    schedule, plan = page.json("schedule"), page.json("plan")
    rows = [row[1:] for row in page.explain(page.first) if row[0] == "kernel"]
    tensor = {b["name"]: b["tensor"] for b in schedule["buffers"]}
    assert len(rows) == len(schedule["kernels"]) == len(plan["kernels"])
    copy = plan["memory_bytes_per_ns"] * plan["copy_percent"] // 100
    launches = {}  # by number of the kernel that a launch begins with: bytes and nanoseconds of arithmetic of its kernels
    for row, k, p in zip(rows, schedule["kernels"], plan["kernels"]):
        assert row[:3] == [k["name"], "|".join(k["origins"]), "|".join(k["results"])]
        assert row[3:11:2] == [k["bytes_read"], k["bytes_written"], k["flops"], p["time_ns"]]
        assert row[11:] == [k["kind"], "->".join("|".join(f"{b}={tensor.get(b, '')}" for b in k[how]) for how in ("reads", "writes"))]
        read, written, flops = map(int, row[4:10:2])
        made = p.get("part") or p["variants"][0]
        rate = plan["tensor_flops_per_ns" if "mma" in made["strategy"] else "f32_flops_per_ns"]
        launches.setdefault(p["launch"], []).append(((read + written) / copy, flops / rate))
    for i, (row, p) in enumerate(zip(rows, plan["kernels"])):
        assert (p["launch"] == i) == (i in launches) == bool(p["variants"])
        assert ("part" in p) == (len(launches[p["launch"]]) > 1)
        time, parts = int(row[10]), launches.get(i)
        if not parts:  # its launch has the time of both
            assert time == 0 and p["launch"] < i
            continue
        # Within the rounding of each part: a launch, the bytes at the copy rate, the flops at one of the two rates.
        least, most = [max(plan["launch_ns"], *(sum(one) + n * len(parts) for one, n in zip(zip(*parts), more))) for more in ((0, 0), (2, 1))]
        assert least <= time < most + 1
    assert len(launches) < len(rows) if page.name == "minilm" else True
    assert copy == 4272 and plan["launch_ns"] == 1000 and plan["arch"] == "sm_90a"
    assert sum(int(row[10]) for row in rows) == int(page.totals(page.first)["time_ns"])


def test_names_lead_back(page):
    """Every result is a tensor of the graph, made by an op of the name that stands beside it."""
    graph = page.emit("--stage", "graph").decode()
    made = {}
    for line in graph.splitlines():
        left, _, right = line.partition(" = ")
        for name in re.findall(r"([\w.]+) : \w+\[", left):
            made[name] = re.match(r"\w+", right).group() if right else left.split()[0]
    kernels = page.json("schedule")["kernels"]
    for k in kernels:
        for op, results in zip(k["origins"], k["results"]):
            assert all(made[r] == op for r in results.split(", ") if r)
    if page.name == "small":
        assert any("v, i" in k["results"] for k in kernels)
    schedule = page.json("schedule")
    own = [b for b in schedule["buffers"] + schedule["edges"] if b["tensor"]]
    assert own and all(made[name] for b in own for name in b["tensor"].split(", ") if not re.fullmatch(r"u\d+|workspace", name))
    # in the text too, behind every buffer that no tensor is called like
    text = page.emit("--stage", "schedule").decode()
    for b in own:
        assert re.search(rf"\b{b.get('name', b.get('buffer'))} \((?:[\w ]+ of )?{re.escape(b['tensor'])}\)", text)
    assert not set(re.findall(r"\bbuf\d+\b(?! \()", text.partition("\nworkspace")[0])) - {m[1] for m in re.finditer(r"the memory of (buf\d+)", text)}


def test_hints_in_json(page):
    hints = {s["name"]: s["hint"] for s in page.json("schedule")["sizes"]}
    assert hints == page.first | ({"N": 128} if page.name == "small" else {})


def test_sizes_that_are_not_allowed(pages, tmp_path):
    page = pages["small"]
    for size, why in [("B=17", "between 1 and 16"), ("Q=1", "no size"), ("B=x", "B=x")]:
        done = subprocess.run([page.ind, "emit", page.graph, "--html", "--size", size], capture_output=True, text=True)
        assert done.returncode == 1 and not done.stdout and done.stderr.startswith("ind: "), size
    done = subprocess.run([page.ind, "emit", page.graph, "--html", "--stage", "cuda"], capture_output=True, text=True)
    assert done.returncode == 1 and "--stage or --html" in done.stderr


# ---- the page


def shown(browser):
    """What the page shows of its totals and kernels, as exact numbers."""
    totals = browser.value("Object.fromEntries([...document.querySelectorAll('.facts b')].map(e => [e.id.slice(6), e.dataset.value]))")
    kernels = browser.value("[...document.querySelectorAll('#kernels tr')].map(r => [...r.cells].map(c => c.dataset.value || ''))")
    return totals, kernels


def check_values(browser, page, sizes):
    totals, kernels = shown(browser)
    expected = page.totals(sizes)
    names = {"predicted": "time_ns", "read": "bytes_read", "written": "bytes_written", "flops": "flops", "peak": "peak_bytes"}
    assert {k: totals[k] for k in names} == {k: expected[v] for k, v in names.items()}
    rows = [row for row in page.explain(sizes) if row[0] == "kernel"]
    assert len(rows) == len(kernels)
    for row, cells in zip(rows, kernels):
        assert cells[4:] == [str(int(row[5]) + int(row[7])), row[9], row[11]]
    edges = [row for row in page.explain(sizes) if row[0] == "edge"]
    most = max((int(row[14]) for row in edges if row[10] == "0"), default=None)
    top = browser.value("document.querySelector('#edges tbody td').title.split(' = ')[1]")
    assert most is None or int(top) == most
    if expected["peak_bytes"] != "0":
        assert browser.value("document.querySelector('#live').dataset.most") == expected["peak_bytes"]


def test_values(browser, page):
    browser.open(page.url)
    assert browser.problems == []
    check_values(browser, page, page.first)
    for name, value in page.other.items():
        browser.type(f"#size-{name}", str(value))
    assert browser.value("document.querySelector('#problem').textContent") == ""
    check_values(browser, page, page.other)
    assert browser.problems == []


def test_all_is_shown(browser, page):
    browser.open(page.url)
    schedule = page.json("schedule")
    graph = page.emit("--stage", "graph").decode().replace(" multiple_of 1 ", " ")
    lines = browser.value("[...document.querySelectorAll('.op')].map(e => e.textContent.slice(10))")
    assert lines == graph.splitlines()
    inside = [b["name"] for b in schedule["buffers"] if b["offset"] is not None]
    assert browser.value("[...document.querySelectorAll('#memory rect')].map(r => r.dataset.buffer)") == inside
    told = browser.value("[...document.querySelectorAll('#memory rect title')].map(t => t.textContent)")
    assert all(text.startswith(f"{name}: ") for name, text in zip(inside, told))
    keys = ["from", "to", "from_kernel", "to_kernel", "buffer", "code", "bytes"]
    distinct = {tuple(e[k] for k in keys) for e in schedule["edges"]}
    assert browser.value("document.querySelectorAll('#edges tbody tr').length") == len(distinct)
    cuda = page.emit("--stage", "cuda").decode().partition("\n// prepared constants: ")[0]  # the page has the kernels of a run
    sources = browser.value("[...document.querySelectorAll('.source pre:last-child')].map(e => e.textContent)")
    assert sources and all(text in cuda for text in sources)
    assert len(sources) == len(re.findall(r"^// kernel (?:\d+(?: with \d+ more)?(?:, )?)+: ", cuda, re.M))


CLICKS = {"data": ("y", "cast"), "small": ("n", "layer_norm"), "minilm": ("linear_1", "linear"), "llama": ("rsqrt", "rsqrt")}


def test_click_on_op(browser, page):
    name, word = CLICKS[page.name]
    kernels = [i for i, k in enumerate(page.json("schedule")["kernels"]) if name in k["results"]]
    browser.open(page.url)
    assert browser.value("document.querySelectorAll('.mark').length") == 0
    browser.click(f"[data-op='{name}']")
    assert browser.value("location.hash") == f"#op={name}"
    assert browser.value("[...document.querySelectorAll('.op.mark')].map(e => e.dataset.op)") == [name]
    assert browser.value("[...document.querySelectorAll('#kernels .mark')].map(e => +e.dataset.kernel)") == kernels
    assert word in browser.value("document.querySelector('#detail').textContent")
    code = browser.value("document.querySelector('.kernel.mark').textContent")
    # What a kernel shares its launch with is shown with it, and told.
    plan = page.json("plan")["kernels"]
    launch = plan[kernels[0]]["launch"]
    assert f" {plan[launch]['variants'][0]['entry']}(" in code and code.count("__global__") == 1
    assert ("part" in plan[kernels[0]]) == (page.name == "minilm") == ("void ind_part_0(" in code)
    if page.name == "minilm":
        assert launch < kernels[0] and f"launched by kernel {launch}: " in browser.value("document.querySelector('#detail').textContent")
        assert f"with kernel {launch}" in browser.value("document.querySelector('#kernels .mark').textContent")
    # The kernel's first line stands at the top of its pane, and has the number that is said.
    top = browser.value("document.querySelector('.kernel.mark').getBoundingClientRect().top - document.querySelector('#source').getBoundingClientRect().top")
    assert 0 <= top < 60
    first = int(re.search(r"lines (\d+) to", browser.value("document.querySelector('#lines').textContent")).group(1))
    assert browser.value("document.querySelector('.kernel.mark').dataset.line") == str(first)
    made = [b["name"] for b in page.json("schedule")["buffers"] if b["offset"] is not None and name in b["results"]]
    assert browser.value("[...document.querySelectorAll('#memory rect.mark')].map(e => e.dataset.buffer)") == made
    # From the kernel back to an op.
    browser.click("#detail p:nth-child(2) .link")
    assert browser.value("location.hash").startswith("#op=")
    assert browser.problems == []


def test_click_on_kernel(browser, page):
    browser.open(page.url)
    for n in [0, len(page.json("schedule")["kernels"]) - 1]:
        browser.click(f"[data-kernel='{n}'] td:nth-child(2)")
        assert browser.value("location.hash") == f"#kernel={n}"
        results = [r for text in page.json("schedule")["kernels"][n]["results"] for r in text.split(", ")]
        assert set(browser.value("[...document.querySelectorAll('.op.mark')].map(e => e.dataset.op)")) <= set(results)
        assert browser.value("document.querySelectorAll('.op.mark').length") > 0
        # What was chosen stays so when sizes change.
        name, value = next(iter(page.other.items()))
        browser.type(f"#size-{name}", str(value))
        assert browser.value("document.querySelector('#kernels .mark').dataset.kernel") == str(n)


def test_link(browser, page):
    name = CLICKS[page.name][0]
    browser.open(f"{page.url}#op={name}")
    assert browser.value("document.querySelector('.op.mark').dataset.op") == name
    assert browser.value("document.querySelectorAll('.kernel.mark').length") == 1
    for nonsense in ["#op=nothing", "#kernel=99999", "#%20=x", "#op"]:
        browser.open(page.url + nonsense)
        assert browser.value("document.querySelectorAll('.mark').length") == 0
        assert browser.problems == []


def test_passes(browser, page):
    """Each change and near miss is a row; a button shows those of one pass; names of the graph lead to it."""
    changes = page.json("passes")["changes"]
    browser.open(page.url)
    rows = "[...document.querySelectorAll('#passes tbody tr')]"
    assert browser.value(f"{rows}.map(r => r.textContent)") == [c["pass"] + ("near miss: " if c["missed"] else "") + c["text"] for c in changes]
    kinds = list(dict.fromkeys(c["pass"] for c in changes if not c["missed"]))
    buttons = browser.value("[...document.querySelectorAll('#filters button')].map(b => b.textContent)")
    assert [b.rpartition(" ")[0] for b in buttons[1:] if not b.startswith("near misses")] == kinds
    for n, kind in enumerate(kinds, 1):
        browser.click(f"#filters button:nth-of-type({n + 1})")
        shown = browser.value(f"{rows}.filter(r => !r.hidden).map(r => r.firstChild.textContent)")
        assert set(shown) == {kind} and buttons[n] == f"{kind} {len(shown)}"
    linked = browser.value("document.querySelectorAll('#passes .link').length")
    assert linked or not changes
    if linked:
        browser.click("#filters button")
        name = browser.value("document.querySelector('#passes .link').textContent")
        browser.click("#passes .link")
        assert browser.value("document.querySelector('.op.mark').dataset.op") == name
    assert browser.problems == []


def test_view_has_no_kernel(browser, pages):
    browser.open(pages["small"].url)
    browser.click("[data-op='t']")
    assert "in no kernel" in browser.value("document.querySelector('#detail').textContent")


def test_sizes(browser, pages):
    page = pages["small"]
    browser.open(page.url)
    before = shown(browser)

    def says(name, value):
        browser.type(f"#size-{name}", value)
        return browser.value("document.querySelector('#problem').textContent")

    assert browser.value("document.querySelector('#size-N').value") == "128"
    assert "[1, 16]" in says("B", "17") and shown(browser) == before
    assert says("B", "13") == "" and shown(browser) != before
    assert "B <= 12 or S <= 64" in says("S", "65")
    assert says("B", "12") == "" and browser.value("document.querySelector('#size-N').value") == "780"
    assert browser.value("document.querySelector('#size-N').disabled") is True
    page.html.with_name("other.html").write_bytes(page.emit("--html", "--size", "B=2"))
    browser.open(page.html.with_name("other.html").as_uri())
    assert browser.value("[...document.querySelectorAll('#sizes input')].map(e => e.value)") == ["2", "32", "64"]


def test_user_text_does_no_harm(browser, pages, tmp_path):
    (tmp_path / "harm.ind").write_text(HARM)
    done = subprocess.run([pages["small"].ind, "emit", "harm.ind", "--html"], cwd=tmp_path, capture_output=True, check=True)
    (tmp_path / "harm.html").write_bytes(done.stdout)
    assert done.stdout.count(b"</script>") == 2 and b"<!--" not in done.stdout
    browser.open((tmp_path / "harm.html").as_uri() + "#op=y")
    assert browser.problems == [] and browser.value("typeof harm") == "undefined"
    assert browser.value("document.querySelectorAll('img').length") == 0
    assert "</script><script>harm = 1" in browser.value("document.querySelector('#graph').textContent")
    assert "<img src=x onerror" in browser.value("document.querySelector('.source').textContent")


@pytest.mark.parametrize("width", [1200, 390])
def test_fits(browser, page, width):
    """Nothing is wider than the window but in panes that scroll; light and dark differ; it can be read."""
    colours = set()
    for dark in [False, True]:
        browser.open(f"{page.url}#kernel=0", width=width, height=800, dark=dark)
        assert browser.value("document.documentElement.scrollWidth") <= width
        assert browser.value("document.querySelector('.kernel.mark').getBoundingClientRect().height") > 100
        assert browser.value("parseFloat(getComputedStyle(document.querySelector('.op')).fontSize)") >= 12
        colours.add(tuple(browser.value("(s => [s.color, s.backgroundColor])(getComputedStyle(document.body))")))
    assert len(colours) == 2


# ---- the page's calculator


def random_formula(r, depth):
    def one():
        return random_formula(r, depth - 1)

    if depth == 0:
        return r.choice(["B", "S", str(r.choice([0, 1, 2, 3, 7, 64, 255, 2**40, 2**62])), str(r.randrange(100))])
    kind = r.randrange(9)
    if kind == 0:
        return f"{r.choice(['Min', 'Max'])}({one()}, {one()}, {one()})"
    if kind == 1:
        return f"CeilDiv({one()}, {r.randrange(1, 9)})"
    if kind == 2:
        return f"Where({one()} {r.choice(['<', '<=', '==', '!=', '>', '>='])} {one()} {r.choice(['and', 'or'])} not {one()} < 5, {one()}, {one()})"
    if kind == 3:
        return f"({one()})"
    if kind == 4:
        return f"-{one()}"
    if kind == 5:
        return f"({one()}) {r.choice(['//', '%'])} {r.choice(['', '-'])}{r.randrange(1, 50)}"
    return f"{one()} {r.choice(['+', '-', '*'])} {one()}"


def test_calculator(browser, pages):
    """Formulas as the library writes them mean in the page what they mean in Python, at any size of number."""
    browser.open(pages["small"].url)
    names = {"Min": min, "Max": max, "CeilDiv": lambda a, b: -(-a // b), "Where": lambda c, a, b: a if c else b, "B": 5, "S": -9}
    r = random.Random(7)
    formulas = [random_formula(r, r.randrange(5)) for _ in range(400)]
    expected = [str(int(eval(f, {"__builtins__": {}}, names))) for f in formulas]
    got = browser.value(f"{json.dumps(formulas)}.map(f => String(parse(f)({{B: 5n, S: -9n}})))")
    assert got == expected and len(set(expected)) > 100
