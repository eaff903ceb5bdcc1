// ---- the drawn graph: boxes of ops in layers, colours by kernel, one repetition of repeated layers
const allGroups = findGroups();
let groups = allGroups, zoom = 0, drawing = { nodes: new Map(), width: 1, height: 1 };
const nodeHeight = 40, layerHeight = 66, margin = 24, firstY = 44;
const yOf = n => n.layer * layerHeight + firstY;
const cut = (text, most) => (text.length > most ? text.slice(0, most - 1) + '\u2026' : text);
const groupOf = i => groups.find(g => i >= g.start && i < g.start + g.period * g.count);
// The number of the op that is drawn where op i belongs, and of the op that is shown there.
const place = i => { const g = groupOf(i); return g ? g.start + (i - g.start) % g.period : i; };
const shownAt = i => { const g = groupOf(i); return g ? i + g.shown * g.period : i; };

function opNode(i, nodeOf) {
  const o = drawn[shownAt(i)], name = o.names[0], k = kernelsOf.get(name);
  const first = cut(o.op, 30), second = cut(name + ' ' + o.type, 38);
  const above = [...new Set(drawn[i].reads.filter(x => numberOf.has(x)).map(x => nodeOf.get(place(numberOf.get(x)))))];
  return { width: Math.max(first.length * 7.4 + 34, second.length * 6.2 + 18), first, second, name, above, kernel: k && k[0] };
}
const pill = (label, rest) => Object.assign({ width: cut(label, 34).length * 6.2 + 18, pill: cut(label, 34), above: [] }, rest);
// Inputs of the graph that op i of the drawing reads. Names are those of the repetition shown.
function inputPills(i, node) {
  const reads = drawn[i].reads, shown = drawn[shownAt(i)].reads, found = [];
  reads.forEach((x, j) => {
    if (!numberOf.has(x) && reads.indexOf(x) === j) found.push(pill(shown[j], { beside: node, name: shown[j] }));
  });
  return found;
}
// Nodes of the drawing in the order of the graph; segments are groups, and the ops between them.
function makeNodes() {
  const nodes = [], nodeOf = new Map();
  let segment = 0, group;
  for (let i = 0; i < drawn.length; i++) {
    const g = groupOf(i);
    if (g && i >= g.start + g.period) continue;
    if (g !== group) segment++;
    group = g;
    const node = Object.assign(opNode(i, nodeOf), { segment, group: g }), pills = inputPills(i, node);
    pills.forEach(p => nodes.push(Object.assign(p, { segment, group: g })));
    node.above.unshift(...pills);
    nodeOf.set(i, node);
    nodes.push(node);
    for (const e of ends) {
      const from = numberOf.get(e.from);
      if (from !== shownAt(i)) continue;
      nodes.push(pill(e.label, { above: [node], segment, group: g, name: e.from }));
    }
  }
  return nodes;
}

function put(parent, tag, list, name, text) {
  const e = add(parent, tag, text, name);
  for (const k in list) e.setAttribute(k, list[k]);
  return e;
}
function drawNode(svg, n) {
  const e = put(svg, 'g', { transform: 'translate(' + (n.x - n.width / 2) + ' ' + n.y + ')' }, n.pill ? 'pill' : 'node click');
  if (n.pill) {
    put(e, 'rect', { y: 9, width: n.width, height: 22, rx: 11 });
    put(e, 'text', { x: n.width / 2, y: 24, 'text-anchor': 'middle' }, undefined, n.pill);
    return;
  }
  if (n.kernel === undefined) e.classList.add('view');
  put(e, 'rect', { width: n.width, height: nodeHeight, rx: 4 });
  if (n.kernel !== undefined) {
    put(e, 'rect', { width: 6, height: nodeHeight, rx: 2 }, 'bar').style.fill = hue(n.kernel);
    put(e, 'text', { x: n.width - 6, y: 16, 'text-anchor': 'end' }, undefined, n.kernel);
  }
  put(e, 'text', { x: 12, y: 16 }, 'name', n.first);
  put(e, 'text', { x: 12, y: 32 }, undefined, n.second);
  put(e, 'title', {}, undefined, lines.get(n.name).textContent.slice(10).trim());
  e.dataset.node = n.name;
  e.setAttribute('tabindex', 0);
  e.setAttribute('role', 'button');
  onEnter(e, () => go('op=' + n.name));
  e.addEventListener('keydown', event => moveFocus(n, event));
  n.e = e;
  drawing.nodes.set(n.name, n);
}
function drawPath(svg, path) {
  const a = path.from, points = [[a.x, a.y + (a.pill ? 31 : nodeHeight)]];
  for (const p of path.nodes) points.push([p.x, yOf(p)], [p.x, yOf(p) + nodeHeight]);
  points.push([path.to.x, path.to.y + (path.to.pill ? 9 : 0)]);
  let d = 'M' + points[0];
  for (let i = 1; i < points.length; i++) {
    const [p, q] = [points[i - 1], points[i]], middle = (p[1] + q[1]) / 2;
    d += p[0] === q[0] ? 'L' + q : 'C' + p[0] + ' ' + middle + ' ' + q[0] + ' ' + middle + ' ' + q;
  }
  put(svg, 'path', { d: d.replace(/,/g, ' '), 'data-from': path.from.name, 'data-to': path.to.name }, 'edge');
}
// The frame of a group, with the number of the repetition shown.
function drawGroup(svg, g, nodes) {
  const own = nodes.filter(n => n.group === g);
  const left = Math.min(...own.map(n => n.x - n.width / 2)) - 12, right = Math.max(...own.map(n => n.x + n.width / 2)) + 12;
  const upper = Math.min(...own.map(n => n.y)) - 18, bottom = Math.max(...own.map(n => n.y)) + nodeHeight + 10;
  put(svg, 'rect', { x: left, y: upper, width: right - left, height: bottom - upper, rx: 8 }, 'group');
  put(svg, 'text', { x: left + 8, y: upper - 6 }, 'number', repetitionText(g));
}
const repetitionText = g => 'repetition ' + (g.shown + 1) + ' of ' + g.count;
// Buttons that show another repetition of a group.
function drawRepeats() {
  $('repeats').textContent = '';
  groups.forEach(g => {
    const e = add($('repeats'), 'span', '', 'repeat'), step = (text, by, label) => {
      const b = add(e, 'button', text);
      b.setAttribute('aria-label', label);
      b.onclick = () => {
        const at = [...e.children].indexOf(b), n = groups.indexOf(g);
        g.shown = (g.shown + by + g.count) % g.count;
        drawGraph();
        markNodes();
        $('repeats').children[n].children[at].focus();
      };
    };
    step('\u25c0', -1, 'previous repetition');
    add(e, 'span', ' ' + repetitionText(g) + ' ');
    step('\u25b6', 1, 'next repetition');
  });
}
function drawGraph() {
  const box = $('drawn'), nodes = makeNodes(), { layers, paths } = layOut(nodes);
  const all = [].concat(...layers);
  const left = Math.min(0, ...all.map(n => n.x - n.width / 2)) - margin, right = Math.max(0, ...all.map(n => n.x + n.width / 2)) + margin;
  box.textContent = '';
  all.forEach(n => { n.x -= left; n.y = yOf(n); });
  drawing = { nodes: new Map(), layers, width: Math.max(right - left, 200), height: layers.length * layerHeight + firstY };
  const svg = box.appendChild(document.createElementNS(SVG, 'svg'));
  svg.setAttribute('viewBox', '0 0 ' + drawing.width + ' ' + drawing.height);
  drawRepeats();
  groups.forEach(g => drawGroup(svg, g, nodes));
  paths.forEach(p => drawPath(svg, p));
  nodes.forEach(n => drawNode(svg, n));
  if (zoom) return setZoom(zoom);
  zoom = Math.min(1, Math.max(0.8, box.clientWidth / drawing.width));
  setZoom(zoom);
  box.scrollLeft = (drawing.width * zoom - box.clientWidth) / 2;
  box.scrollTop = 0;
}

// ---- zoom, the position in the pane, keys
function setZoom(to) {
  const box = $('drawn'), svg = box.firstChild, x = (box.scrollLeft + box.clientWidth / 2) / zoom, y = (box.scrollTop + box.clientHeight / 2) / zoom;
  zoom = Math.min(2, Math.max(0.05, to));
  svg.setAttribute('width', drawing.width * zoom);
  svg.setAttribute('height', drawing.height * zoom);
  box.scrollLeft = x * zoom - box.clientWidth / 2;
  box.scrollTop = y * zoom - box.clientHeight / 2;
}
const fit = () => setZoom(Math.min(1, $('drawn').clientWidth / drawing.width, $('drawn').clientHeight / drawing.height));
function centre(n) {
  const box = $('drawn');
  box.scrollLeft = n.x * zoom - box.clientWidth / 2;
  box.scrollTop = n.y * zoom - box.clientHeight / 3;
}
// Arrow keys: up and down along edges, left and right within a layer.
function moveFocus(n, event) {
  const along = (list, side) => {
    let m = list[0];
    while (m && (m.pass || m.pill)) m = m[side].find(x => !x.pill);
    return m;
  };
  const layer = drawing.layers[n.layer].filter(m => m.e), at = layer.indexOf(n);
  const to = { ArrowDown: () => along(n.down.filter(m => !m.pill), 'down'), ArrowUp: () => along(n.up.filter(m => !m.pill), 'up'),
    ArrowLeft: () => layer[at - 1], ArrowRight: () => layer[at + 1] }[event.key];
  if (!to) return;
  event.preventDefault();
  const m = to();
  if (!m) return;
  m.e.focus({ preventScroll: true });
  centre(m);
}
// Shows the repetition that has the first marked op, marks all marked ops, and moves the first one into view.
function markNodes(moved) {
  const first = numberOf.get(marked.ops[0]), g = first === undefined ? undefined : groupOf(first);
  const at = g && Math.floor((first - g.start) / g.period);
  if (moved && g && at !== g.shown) {
    g.shown = at;
    drawGraph();
  }
  drawing.nodes.forEach((n, name) => n.e.classList.toggle('mark', marked.ops.includes(name)));
  const n = drawing.nodes.get(marked.ops[0]);
  if (moved && n) centre(n);
}
