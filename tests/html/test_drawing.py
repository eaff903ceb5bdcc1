"""The drawn graph, search, keys, the steps of lowering, SASS and measured times of the page, in a real browser. Edges, ops and texts are
compared with those of `ind emit --stage`."""

import json
import os
import re
import subprocess

import pytest
from pages import MODELS, browser, libraries, make, models, page, pages  # noqa: F401

LAYERS = {"bert": 12, "llama_32": 32}


class Graph:
    """Ops, operands and ends of `ind emit --stage graph`: op by its first result, operands in order."""

    def __init__(self, text):
        self.inputs, self.consts, self.ops, self.first, self.ends = set(), set(), {}, {}, []
        for line in text.splitlines():
            word = line.split()[0]
            if word in ("input", "const"):
                (self.inputs if word == "input" else self.consts).add(line.split()[1])
            elif word == "mutate":
                self.ends.append((line.split(" = ")[1], None))
            elif word == "output":
                self.ends += [(part.split(" = ")[-1], None) for part in line.strip().removeprefix("output ").split(", ")]
            elif " = " in line and word not in ("fact", "guard", "function"):
                left, right = line.split(" = ", 1)
                names = re.findall(r"([\w.]+) : ", left)
                known = self.inputs | self.consts | set(self.first)
                operands = [t for t in re.findall(r"[\w.]+(?!\w*=)", re.split(r"\w+=", right.split("(", 1)[1])[0]) if t in known]
                self.ops[names[0]] = operands
                self.first.update(dict.fromkeys(names, names[0]))


def drawn_graph(page):
    """The graph, and which ops are drawn: all but those computed from constants alone that no kernel computes."""
    graph = Graph(page.emit("--stage", "graph").decode())
    computed = {r for k in page.json("schedule")["kernels"] for text in k["results"] for r in text.split(", ")}
    hidden = set(graph.consts)
    for name, operands in graph.ops.items():
        results = [r for r, first in graph.first.items() if first == name]
        if operands and hidden.issuperset(operands) and not computed.intersection(results):
            hidden.update(results)
    return graph, [name for name in graph.ops if name not in hidden], hidden


def values(browser, expression):
    return browser.value(f"[...document.querySelectorAll({expression}")


OVERLAPS = """(() => {
  const boxes = [...document.querySelectorAll('#drawn .node, #drawn .pill')].map(e => e.getBoundingClientRect()).sort((a, b) => a.top - b.top);
  let found = 0;
  boxes.forEach((a, i) => { for (let j = i + 1; j < boxes.length && boxes[j].top < a.bottom - 1; j++) {
    if (boxes[j].left < a.right - 1 && boxes[j].right > a.left + 1) found++; } });
  return found; })()"""


def check_whole_graph(browser, page):
    """Unfolded, every op is a box, every data flow between ops an edge downwards, and no two boxes overlap."""
    graph, ops, hidden = drawn_graph(page)
    assert values(browser, "'#drawn .node')].map(e => e.dataset.node)") == ops
    edges = {(graph.first.get(x, x), name) for name in ops for x in graph.ops[name] if x not in hidden}
    drawn = values(browser, "'#drawn .edge')].map(e => [e.dataset.from, e.dataset.to])")
    pills = [(graph.first[x], x) for x, _ in graph.ends if graph.first.get(x) in ops]
    expected = {(a, b) for a, b in edges if a in graph.ops} | set(pills)
    assert {(a, b) for a, b in map(tuple, drawn) if a not in graph.inputs} == expected
    assert {(a, b) for a, b in map(tuple, drawn) if a in graph.inputs} == {(a, b) for a, b in edges if a in graph.inputs}
    ends = values(browser, "'#drawn .edge')].map(e => { const b = e.getBBox(), d = e.getAttribute('d').match(/[\\d.]+/g); return [+d[1], +d[d.length - 1]]; })")
    assert ends and all(top < bottom for top, bottom in ends)
    assert browser.value(OVERLAPS) == 0


def test_drawn_graph(browser, page):
    browser.open(page.url)
    assert browser.problems == []
    if browser.value("!document.querySelector('#fold').parentNode.hidden"):
        browser.click("#fold")
    check_whole_graph(browser, page)
    name = next(iter(drawn_graph(page)[1]))
    browser.click(f"[data-node='{name}']")
    assert browser.value("location.hash") == f"#op={name}"
    assert browser.value("document.querySelector('.node.mark').dataset.node") == name
    assert browser.problems == []


@pytest.mark.parametrize("name", MODELS)
def test_repeated_layers(browser, models, name):
    page, layers = models[name], LAYERS[name]
    browser.open(page.url)
    assert browser.problems == []
    _, ops, _ = drawn_graph(page)
    shown = values(browser, "'#drawn .node')].map(e => e.dataset.node)")
    assert values(browser, "'#drawn .group')].length") == 1
    assert browser.value("document.querySelector('.repeat span').textContent.trim()") == f"repetition 1 of {layers}"
    period = (len(ops) - len(shown)) / (layers - 1)
    assert period == int(period) and 10 < period < 60
    browser.click(".repeat button:last-child")
    assert browser.value("document.querySelector('.repeat span').textContent.trim()") == f"repetition 2 of {layers}"
    second = values(browser, "'#drawn .node')].map(e => e.dataset.node)")
    assert len(second) == len(shown) and len(set(shown) - set(second)) == period
    assert ops.index(second[0]) - ops.index(shown[0]) in (0, period)
    browser.click(".repeat button:first-child")
    assert values(browser, "'#drawn .node')].map(e => e.dataset.node)") == shown
    # An op of another layer shows that layer.
    start = next(i for i, (a, b) in enumerate(zip(shown, second)) if a != b)
    op = ops[ops.index(shown[start]) + int(period) * (layers - 1) + 3]
    browser.open(f"{page.url}#op={op}")
    assert browser.value("document.querySelector('.repeat span').textContent.trim()") == f"repetition {layers} of {layers}"
    assert browser.value("document.querySelector('.node.mark').dataset.node") == op
    x, y, width, height = browser.value("(() => { const a = document.querySelector('.node.mark').getBoundingClientRect(), b = document.querySelector('#drawn')"
                                        ".getBoundingClientRect(); return [a.left - b.left, a.top - b.top, b.width, b.height]; })()")
    assert 0 <= x < width and 0 <= y < height
    browser.click("#fold")
    check_whole_graph(browser, page)
    assert browser.value("document.querySelector('.node.mark').dataset.node") == op


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("width", [1400, 390])
def test_models_fit(browser, models, name, width, tmp_path):
    """No overlap, no horizontal scrolling of the page, and less than 3 s until it answers."""
    page = models[name]
    times = []
    while not times or (min(times) >= 3000 and len(times) < 4):  # other work on this machine takes time
        browser.open(f"{page.url}#kernel=5", width=width, height=900)
        times.append(browser.value("performance.getEntriesByType('navigation')[0].loadEventEnd"))
    assert browser.problems == [] and 0 < min(times) < 3000
    assert browser.value("document.querySelector('#drawn').clientHeight") > 300
    assert browser.value("document.documentElement.scrollWidth") <= width
    assert browser.value(OVERLAPS) == 0
    rows = values(browser, "'body > header, #panes section, body > section')].map(e => { const r = e.getBoundingClientRect(); return [r.left, r.top, r.right, r.bottom]; })")
    apart = [a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1] for i, a in enumerate(rows) for b in rows[:i] if a[3] > a[1] and b[3] > b[1]]
    assert len(apart) >= 15 and all(apart)
    browser.screenshot(tmp_path / "page.png")
    assert (tmp_path / "page.png").stat().st_size > 10000


def key(browser, name, text=""):
    for kind in ("keyDown", "keyUp"):
        browser.call("Input.dispatchKeyEvent", type=kind, key=name, text=text if kind == "keyDown" else "")
    browser.settle()


def test_search_and_keys(browser, models):
    page = models["bert"]
    _, ops, _ = drawn_graph(page)
    graph = page.emit("--stage", "graph").decode()
    browser.open(page.url)
    key(browser, "/", "/")
    assert browser.value("document.activeElement.id") == "find"
    browser.type("#find", "gelu")
    gelus = re.findall(r"^  ([\w.]+) : .* = gelu\(", graph, re.M)
    kernels = [k for k in page.json("schedule")["kernels"] if "gelu" in k["name"]]
    assert len(gelus) == 12 and browser.value("document.querySelector('#found').textContent") == f"{12 + len(kernels)} found"
    assert browser.value("document.querySelectorAll('.node.hit').length") == 1
    for n, op in enumerate(gelus[:2], 1):
        key(browser, "Enter")
        assert browser.value("location.hash") == f"#op={op}"
        assert browser.value("document.querySelector('#found').textContent") == f"{n} of {12 + len(kernels)}"
        assert browser.value("document.querySelector('.node.mark').dataset.node") == op
    browser.type("#find", "no such op")
    assert browser.value("document.querySelector('#found').textContent") == "0 found"
    # Arrows move along edges, Enter selects, Escape clears.
    browser.value(f"document.querySelector(\"[data-node='{gelus[1]}']\").focus()")
    parsed = Graph(graph)
    key(browser, "ArrowUp")
    above = browser.value("document.activeElement.dataset.node")
    assert above in parsed.ops[gelus[1]]
    key(browser, "ArrowDown")
    assert browser.value("document.activeElement.dataset.node") == gelus[1]
    key(browser, "ArrowUp")
    key(browser, "Enter")
    assert browser.value("location.hash") == f"#op={above}"
    key(browser, "Escape")
    assert browser.value("document.querySelectorAll('.mark').length") == 0
    width = "parseFloat(document.querySelector('#drawn svg').getAttribute('width'))"
    before = browser.value(width)
    key(browser, "+", "+")
    assert browser.value(width) == pytest.approx(1.25 * before)
    key(browser, "-", "-")
    assert browser.value(width) == pytest.approx(before)
    key(browser, "0", "0")
    assert browser.value("document.querySelector('#drawn svg').getBoundingClientRect().height <= document.querySelector('#drawn').clientHeight + 1")
    # Everything that a click reaches, Tab reaches too.
    unreachable = values(browser, "'.click, .link, button')].filter(e => e.tabIndex < 0 && e.closest('tbody, #drawn, #graph, #detail')"
                                  " && e.tagName !== 'rect').length")
    assert unreachable == 0
    assert browser.problems == []


def parts(text, head):
    """The blocks of a stage's text that begin with `head` and a number."""
    found = re.split(rf"^(?={head} \d+\b)", text, flags=re.M)[1:]
    return {int(re.match(rf"{head} (\d+)", p).group(1)): p for p in found}


def own(page, stage):
    """The text of a stage without the section of prepared constants."""
    text = page.emit("--stage", stage).decode()
    if stage == "kernels" and text.startswith("# prepared"):
        return re.split(r"^(?=# kernel 0 )", text, flags=re.M)[2]
    return text.partition("\nprepared constants: ")[0]


def test_steps(browser, page):
    """Each column has exactly the parts of its stage that belong to the selected kernel."""
    loops, schedule, plan = (parts(own(page, stage), head) for stage, head in (("loops", "loop"), ("schedule", "kernel"), ("plan", "kernel")))
    graphs = {n: p for n, p in parts("\n" + own(page, "kernels").replace("\n# kernel", "\nkernel").replace("# kernel 0", "kernel 0", 1), "kernel").items()}
    kernels, seen = page.json("schedule")["kernels"], []
    browser.open(page.url)
    for n in range(len(kernels)):
        browser.value(f"go('kernel={n}')")
        browser.settle()
        shown = {step: browser.value(f"document.querySelector('#text-{step}').textContent") for step in ("loops", "schedule", "kernel", "plan", "sass")}
        mine = [int(x) for x in re.findall(r"^loop (\d+) ", shown["loops"], re.M)]
        assert mine and shown["loops"].split() == " ".join(loops[x].partition("\n}")[0] + "\n}" for x in mine).split()
        seen += mine
        assert shown["schedule"].split("\n")[0] == schedule[n].split("\n")[0] and schedule[n].startswith(shown["schedule"])
        assert plan[n].startswith(shown["plan"]) and "predicted ns" in shown["plan"]
        assert shown["kernel"].removeprefix("# ").split() == graphs[n].split()
        assert "--sass FOLDER" in shown["sass"]
    assert len(seen) == len(set(seen)) > 0
    stored = {b for x in seen for b in re.findall(r"store (?:\w+ )?([\w.]+)\[", loops[x])}
    assert stored >= {b for k in kernels for b in k["writes"]}
    assert browser.problems == []


def test_columns(browser, pages):
    """Buttons hide and show columns; in a narrow window they are tabs."""
    names = ["Graph", "Loops", "Schedule", "Kernel graph", "Plan", "CUDA", "SASS"]
    visible = "'#columns > div')].filter(e => e.getBoundingClientRect().width > 0).map(e => e.id)"
    browser.open(pages["small"].url + "#kernel=0", width=1400)
    assert values(browser, "'#buttons button')].map(e => e.textContent)") == names
    assert values(browser, visible) == [f"column-{n}" for n in ("graph", "loops", "schedule", "plan", "cuda", "sass")]
    browser.click("#button-column-loops")
    browser.click("#button-column-kernel")
    assert values(browser, visible) == [f"column-{n}" for n in ("graph", "schedule", "kernel", "plan", "cuda", "sass")]
    browser.open(pages["small"].url + "#kernel=1", width=390)
    assert values(browser, visible) == ["column-cuda"]
    browser.click("#button-column-plan")
    assert values(browser, visible) == ["column-plan"] and "kernel 1 " in browser.value("document.querySelector('#text-plan').textContent")
    assert values(browser, "'#buttons [aria-pressed=true]')].map(e => e.textContent)") == ["Plan"]


# ---- SASS and measured times


def fake_disassembler(folder, exit_status=0):
    """Prints a text that names the file, and takes the arguments of nvdisasm."""
    program = folder / "disassembler"
    program.write_text(f'#!/bin/sh\n[ "$1" = -c ] && [ -s "$2" ] || exit 9\necho "SASS of $(basename "$2")"\nexit {exit_status}\n')
    program.chmod(0o755)
    return {**os.environ, "IND_NVDISASM": str(program)}


def test_sass(browser, pages, tmp_path):
    page = pages["small"]
    command = [page.ind, "emit", page.graph, "--html", "--sass", tmp_path / "cubins"]
    done = subprocess.run(command, capture_output=True, env=fake_disassembler(tmp_path))
    assert done.returncode == 0, done.stderr
    cubins = sorted(f.name for f in (tmp_path / "cubins").glob("*.cubin"))
    (tmp_path / "page.html").write_bytes(done.stdout)
    browser.open((tmp_path / "page.html").as_uri())
    plan, seen = page.json("plan")["kernels"], set()
    for n, k in enumerate(plan):
        browser.value(f"go('kernel={n}')")
        browser.settle()
        name = re.fullmatch(r"SASS of (\d\d_(\w+)\.cubin)", browser.value("document.querySelector('#text-sass').textContent.trim()"))
        assert name[1] in cubins and name[2] == plan[k["launch"]]["variants"][0]["entry"]
        seen.add(name[1])
    assert len(seen) == len({k["launch"] for k in plan}) and browser.problems == []
    refused = subprocess.run(command, capture_output=True, text=True, env=fake_disassembler(tmp_path, 3))
    assert refused.returncode == 1 and not refused.stdout and "nvdisasm" in refused.stderr
    refused = subprocess.run([*command[:-1], tmp_path / "a$b"], capture_output=True, text=True, env=fake_disassembler(tmp_path))
    assert refused.returncode == 1 and "character of the shell" in refused.stderr


@pytest.mark.parametrize("where", ["host", "cuda"])
def test_measured(browser, pages, device, tmp_path, where):
    """`ind profile --html`: each launch beside its predicted time, at the sizes that were measured."""
    page = pages["small"]
    command = [page.ind, "profile", page.graph, "--size", "B=2", "--size", "S=5", "--repeat", "2", "--device", where]
    env = {**os.environ, **(libraries(device) if where == "cuda" else {})}
    done = subprocess.run([*command, "--html"], capture_output=True, env=env)
    assert done.returncode == 0, done.stderr
    (tmp_path / "page.html").write_bytes(done.stdout)
    browser.open((tmp_path / "page.html").as_uri())
    data = json.loads(browser.value("document.querySelector('#data').textContent"))
    launches = [k["launch"] == n for n, k in enumerate(data["plan"]["kernels"])]
    assert [ns > 0 for ns in data["measured"]["launches"]] == launches
    assert ("Emulated" in data["measured"]["device"]) == (where == "cuda")
    cells = values(browser, "'[data-measured]')].map(e => e.textContent)")
    for n, text in enumerate(cells):
        ns, predicted = data["measured"]["launches"][n], int(browser.value(f"String(value(P.kernels[{n}].time_ns))"))
        assert text.endswith(f", {int(100 * predicted / ns + 0.5)} %") if launches[n] else text == ""
    assert values(browser, "'th')].map(e => e.textContent)")[6:8] == ["measured", "predicted"]
    assert "measured" in browser.value("document.querySelector('.facts').textContent")
    browser.type("#size-B", "3")
    assert set(values(browser, "'[data-measured]')].map(e => e.textContent)")) == {""}
    assert "measured at other sizes" in browser.value("document.querySelector('.facts').textContent")
    browser.type("#size-B", "2")
    assert values(browser, "'[data-measured]')].map(e => e.textContent)") == cells
    assert browser.problems == []


def test_measured_persistent_launch(browser, device, tmp_path):
    """A persistent launch is compared with the predicted times of all launches that it runs."""
    (tmp_path / "g.ind").write_text("graph g {\n  input x : bf16[1, 256]\n  const w : bf16[512, 256]\n  const v : bf16[256, 512]\n"
                                    "  p = linear(x, w)\n  q = linear(p, v)\n  y = linear(q, w)\n  output y\n}\n")
    command = [make("build/ind"), "profile", "g.ind", "--device", "cuda", "--repeat", "1", "--persistent", "--html"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, env={**os.environ, **libraries(device)})
    assert done.returncode == 0, done.stderr
    (tmp_path / "page.html").write_bytes(done.stdout)
    browser.open((tmp_path / "page.html").as_uri())
    data = json.loads(browser.value("document.querySelector('#data').textContent"))
    ns, predicted = data["measured"]["launches"], [int(k["time_ns"]) for k in data["plan"]["kernels"]]
    assert ns[0] > 0 and ns[1:] == [0, 0] and predicted == [1000] * 3
    cells = values(browser, "'[data-measured]')].map(e => e.textContent)")
    assert cells[0].endswith(f", {int(100 * sum(predicted) / ns[0] + 0.5)} %") and cells[1:] == ["", ""]


def test_sizes_select_the_source(browser, tmp_path):
    """At other sizes a selected kernel may have another variant: its source is marked then, and no other."""
    (tmp_path / "g.ind").write_text("graph g {\n  size B in [1, 4096] hint 4096\n  input x : bf16[B, 512]\n  const w : bf16[1024, 512]\n"
                                    "  y = linear(x, w)\n  output y\n}\n")
    page = subprocess.run([make("build/ind"), "emit", "g.ind", "--html"], cwd=tmp_path, capture_output=True, check=True).stdout
    (tmp_path / "page.html").write_bytes(page)
    browser.open((tmp_path / "page.html").as_uri() + "#kernel=0")
    found = []
    for size in ("4096", "1"):
        browser.type("#size-B", size)
        marks = values(browser, "'.kernel.mark')].map(e => e.textContent)")
        strategy = browser.value("document.querySelector('#kernels td:nth-child(3)').textContent")
        assert len(marks) == 1
        found.append((strategy, marks[0]))
    assert found[1][0] == "matmul, few rows" != found[0][0] and found[0][1] != found[1][1]
