'use strict';
const D = JSON.parse(document.getElementById('data').textContent), S = D.schedule, P = D.plan;
const $ = id => document.getElementById(id), SVG = 'http://www.w3.org/2000/svg', last = a => a[a.length - 1];
function add(parent, tag, text, name) {
  const e = parent.namespaceURI === SVG ? document.createElementNS(SVG, tag) : document.createElement(tag);
  if (text !== undefined) e.textContent = text;
  if (name) e.setAttribute('class', name);
  return parent.appendChild(e);
}
const bufferText = (buffer, tensor) => (tensor ? buffer + ' (' + tensor + ')' : buffer);
const tensorIn = new Map(S.buffers.map(b => [b.name, b.tensor]));
const hue = i => 'hsl(' + (i * 137.5) % 360 + ' 55% var(--tone))';

// ---- formulas over BigInt; // and % round down for negative numbers too
const down = (a, b) => { const q = a / b; return q * b !== a && (a < 0n) !== (b < 0n) ? q - 1n : q; };
const calls = { Min: v => v.reduce((a, b) => (b < a ? b : a)), Max: v => v.reduce((a, b) => (b > a ? b : a)),
  CeilDiv: v => -down(-v[0], v[1]), Where: v => (v[0] ? v[1] : v[2]) };
const bit = x => (x ? 1n : 0n);
const binary = { or: (a, b) => bit(a || b), and: (a, b) => bit(a && b), '==': (a, b) => bit(a === b),
  '!=': (a, b) => bit(a !== b), '<=': (a, b) => bit(a <= b), '>=': (a, b) => bit(a >= b),
  '<': (a, b) => bit(a < b), '>': (a, b) => bit(a > b), '+': (a, b) => a + b, '-': (a, b) => a - b,
  '*': (a, b) => a * b, '//': down, '%': (a, b) => a - b * down(a, b) };
const levels = [['or'], ['and'], ['not'], ['==', '!=', '<=', '>=', '<', '>'], ['+', '-'], ['*', '//', '%']];
function parse(text) {
  const t = text.match(/\d+|\w+|\/\/|[<>=!]=|\S/g) || [];
  let at = 0;
  function atom() {
    const w = t[at++];
    if (w === '-') { const x = atom(); return v => -x(v); }
    if (w === '(') { const x = level(0); at++; return x; }
    if (/^\d/.test(w)) { const n = BigInt(w); return () => n; }
    if (t[at] !== '(') return v => { if (v[w] === undefined) throw Error('size ' + w + '?'); return v[w]; };
    const list = [];
    do { at++; list.push(level(0)); } while (t[at] === ',');
    at++;
    return v => calls[w](list.map(x => x(v)));
  }
  function level(n) {
    if (n === levels.length) return atom();
    if (n === 2 && t[at] === 'not') { at++; const x = level(n); return v => x(v) ? 0n : 1n; }
    let x = level(n + 1);
    while (n !== 2 && levels[n].includes(t[at])) {
      const f = binary[t[at++]], a = x, b = level(n + 1);
      x = v => f(a(v), b(v));
    }
    return x;
  }
  return level(0);
}
const parsed = new Map();
let sizes = Object.create(null);
function value(text) {
  if (!parsed.has(text)) parsed.set(text, parse(text));
  return parsed.get(text)(sizes);
}

// ---- numbers to read
function short(n, units, base) {
  let x = Number(n), u = 0;
  while (x >= base && u + 1 < units.length) { x /= base; u++; }
  return (u === 0 || x >= 100 ? Math.round(x) : x.toPrecision(3)) + units[u];
}
const bytes = n => short(n, [' B', ' KiB', ' MiB', ' GiB', ' TiB'], 1024);
const flops = n => short(n, ['', ' k', ' M', ' G', ' T', ' P'], 1000);
const time = n => short(n, [' ns', ' \u00b5s', ' ms', ' s'], 1000);
// A cell whose text follows the sizes; its title has formula and value.
const cells = [];
function cell(parent, tag, formula, show, name) {
  const e = add(parent, tag, '', name);
  cells.push(() => {
    const n = value(formula);
    e.textContent = show(n);
    e.title = formula + ' = ' + n;
    e.dataset.value = n;
  });
  return e;
}

// ---- graph: the line that defines each tensor, and the kernels that compute it
const lines = new Map(), kernelsOf = new Map();
S.kernels.forEach((k, n) => k.results.forEach(r => r.split(', ').forEach(x => {
  if (!kernelsOf.has(x)) kernelsOf.set(x, []);
  if (last(kernelsOf.get(x)) !== n) kernelsOf.get(x).push(n);
})));
D.graph.replace(/\n$/, '').split('\n').forEach((text, n) => {
  const e = add($('graph'), 'span', '', 'op');
  add(e, 'i', String(n + 1).padStart(4));
  const gutter = add(e, 'i', '      ');
  e.append(text.replace(/ multiple_of 1 /, ' '));
  const equal = text.indexOf(' = '), op = equal > 0 && !/^  (mutate|output|fact|guard|function)/.test(text);
  if (!op && !/^  (input|const) /.test(text)) return;
  const left = op ? text.slice(0, equal) : text.replace(/^  \w+/, ' ');
  const names = (left.match(/[\w.]+ : /g) || []).map(x => x.slice(0, -3));
  names.forEach(x => lines.set(x, e));
  if (!names.length) return;
  const k = [...new Set([].concat(...names.map(x => kernelsOf.get(x) || [])))];
  e.classList.add('click');
  e.tabIndex = 0;
  e.dataset.op = names[0];
  e.title = k.length ? 'in kernel ' + k.join(', ') : 'in no kernel';
  if (k.length) {
    e.style.borderLeftColor = hue(k[0]);
    gutter.textContent = (k[0] + (k.length > 1 ? '+' : ' ')).padStart(5) + ' ';
  }
  e.onclick = () => go('op=' + names[0]);
  e.onkeydown = event => { if (event.key === 'Enter') e.onclick(); };
});

// ---- kernels
function variant(n) {
  const all = P.kernels[P.kernels[n].launch].variants;
  return all.find(v => v.guard === null || value(v.guard)) || last(all);
}
S.kernels.forEach((k, n) => {
  const r = add($('kernels'), 'tr', undefined, 'click'), name = add(r, 'td', n, 'line');
  name.style.borderLeft = '4px solid ' + hue(n);
  const ops = k.origins.map((o, i) => k.results[i] && k.results[i] !== o ? o + ' \u2192 ' + k.results[i] : o);
  add(r, 'td', k.name).title = ops.join('\n');
  const strategy = add(r, 'td', '', 'line'), launch = add(r, 'td', '', 'num wide-only');
  cells.push(() => {
    const v = variant(n);
    strategy.textContent = v ? (P.kernels[n].part || v).strategy : 'extern call';
    const first = P.kernels[n].launch;
    const blocks = v ? v.grid.map(value).filter(g => g !== 1n).concat(v.threads).join(' \u00d7 ') : '';
    launch.textContent = first !== n ? 'with kernel ' + first : blocks;
  });
  const sum = '(' + k.bytes_read + ') + (' + k.bytes_written + ')';
  cell(r, 'td', sum, bytes, 'num');
  cell(r, 'td', k.flops, flops, 'num wide-only');
  const own = P.kernels[n].launch === n;
  const t = cell(r, 'td', P.kernels[n].time_ns, x => (own ? time(x) : ''), 'num');
  cells.push(() => {
    const part = 100 * Number(t.dataset.value) / Number(longest) + '%';
    t.style.background = 'linear-gradient(to right, var(--bar) ' + part + ', transparent ' + part + ')';
  });
  r.tabIndex = 0;
  r.dataset.kernel = n;
  r.onclick = () => go('kernel=' + n);
  r.onkeydown = event => { if (event.key === 'Enter') r.onclick(); };
});
let longest = 1n;
cells.unshift(() => { longest = P.kernels.reduce((m, k) => calls.Max([m, value(k.time_ns)]), 1n); });

// ---- source: one block per distinct text, with the compiler's line numbers
const blocks = S.kernels.map(() => []);
D.sources.forEach(s => {
  const all = s.text.replace(/\n$/, '').split('\n');
  const start = Math.max(0, all.findIndex(x => /__global__|void ind_part_0\(/.test(x)));
  const e = add($('source'), 'div', undefined, 'source');
  add(e, 'pre', all.map((x, i) => i + 1).join('\n'), 'numbers');
  const code = add(e, 'pre');
  if (start) add(code, 'span', all.slice(0, start).join('\n') + '\n', 'prelude');
  add(code, 'span', all.slice(start).join('\n'), 'kernel').dataset.line = start + 1;
  s.used_by.forEach(u => { blocks[u[0]][u[1]] = { e: e, lines: [start + 1, all.length] }; });
});

// ---- memory: kernels on the x axis, offsets in the arena on the y axis
const arena = S.buffers.filter(b => b.offset !== null && b.first !== null), steps = S.kernels.length;
function drawMemory() {
  const box = $('memory'), top = Number(value(S.arena_bytes));
  box.textContent = '';
  if (!top) return void add(box, 'p', 'The arena is empty: kernels exchange data only through inputs and outputs.');
  const w = Math.max(box.clientWidth - 8, 300, steps * 9), h = 280, left = 64, bottom = 20;
  const step = (w - left - 8) / steps;
  const svg = box.appendChild(document.createElementNS(SVG, 'svg'));
  const x = k => left + k * step, y = n => 8 + (h - 8 - bottom) * (1 - n / top), live = Array(steps).fill(0);
  const put = (tag, list, name) => {
    const e = add(svg, tag, undefined, name);
    for (const k in list) e.setAttribute(k, list[k]);
    return e;
  };
  svg.setAttribute('width', w);
  svg.setAttribute('height', h);
  const counted = new Map();
  arena.forEach((b, i) => {
    const at = Number(value(b.offset)), size = Number(value(b.bytes)), aligned = Math.ceil(size / 256) * 256;
    for (let k = b.first; k <= b.last; k++) {
      const key = b.storage + '\n' + k, before = counted.get(key) || 0;
      if (aligned > before) { live[k] += aligned - before; counted.set(key, aligned); }
    }
    const r = put('rect', { x: x(b.first), y: y(at + size), width: (b.last - b.first + 1) * step - 1,
      height: Math.max(y(at) - y(at + size), 0.5), fill: hue(i), 'fill-opacity': 0.75 }, 'click');
    const label = b.name + ': ' + bytes(size) + ' (' + size + ') at ' + at + ', kernels ' + b.first + ' to ' +
      b.last + (b.results.length ? '; of ' + b.results.join(', ') : '') +
      (b.storage === b.name ? '' : '; reuses the memory of ' + b.storage);
    add(r, 'title', label);
    r.dataset.buffer = b.name;
    r.onmouseenter = () => { $('hover').textContent = label; };
    r.onclick = () => go('kernel=' + b.first);
    if (marked.buffers.has(b.name)) r.classList.add('mark');
  });
  const path = 'M' + left + ' ' + y(0) + live.map(n => 'V' + y(n) + 'h' + step).join('');
  put('path', { d: path, fill: 'none', stroke: 'currentColor', id: 'live', 'data-most': calls.Max(live) });
  const peak = Number(value(S.peak_bytes));
  put('path', { d: 'M' + left + ' ' + y(peak) + 'H' + w, stroke: 'var(--bad)', 'stroke-dasharray': '5 4' });
  const mark = (at, n) => { put('text', { x: left - 6, y: at, 'text-anchor': 'end' }).textContent = bytes(n); };
  mark(y(0) + 3, 0);
  mark(y(top) + 4, top);
  if (y(peak) - y(top) > 12) mark(y(peak) + 4, peak);
  for (let k = 0; k < steps; k += Math.ceil(30 / step)) put('text', { x: x(k) + 2, y: h - 6 }).textContent = k;
  $('hover').textContent = 'x: kernels; y: offsets in the arena; box: a buffer, with details on hover. ' +
    'Line: live bytes; dashed: their peak, ' + bytes(peak) + '; unfused peak: ' + bytes(value(S.unfused_bytes)) + '.';
}

// ---- edges: edges from loops of one kernel to the same buffer, for the same reason, share a row
const edges = new Map();
S.edges.forEach(e => {
  const key = [e.from, e.to, e.from_kernel, e.to_kernel, e.buffer, e.code, e.bytes].join('\n');
  edges.set(key, { e: e, times: edges.has(key) ? edges.get(key).times + 1 : 1 });
});
function drawEdges() {
  const body = $('edges').querySelector('tbody'), sum = new Map();
  body.textContent = '';
  const rows = [...edges.values()].map(x => ({ e: x.e, times: x.times, n: value(x.e.bytes) }));
  rows.sort((a, b) => a.e.fused - b.e.fused || (a.n < b.n ? 1 : a.n > b.n ? -1 : 0));
  rows.forEach(row => {
    const e = row.e, r = add(body, 'tr', undefined, 'click'), s = sum.get(e.code) || [0, 0n, e];
    sum.set(e.code, [s[0] + 1, s[1] + row.n, e]);
    add(r, 'td', bytes(row.n), 'num').title = e.bytes + ' = ' + row.n;
    add(r, 'td', e.fused ? 'yes' : 'no', e.fused ? 'yes' : 'no');
    add(r, 'td', e.from).title = e.from_results;
    add(r, 'td', e.to).title = e.to_results;
    add(r, 'td', bufferText(e.buffer, e.tensor) + (e.vertical ? '' : ' (both read)'));
    add(r, 'td', e.from_kernel === e.to_kernel ? e.to_kernel : e.from_kernel + ', ' + e.to_kernel);
    const why = add(r, 'td', e.reason + (row.times > 1 ? ', ' + row.times + ' times ' : ' '));
    add(why, 'small', e.code);
    r.onclick = () => go('kernel=' + e.to_kernel);
  });
  const summary = ([code, s]) => s[0] + ' ' + code + (s[2].fused ? ' save ' : ' cost ') + bytes(s[1]);
  $('reasons').textContent = [...sum].map(summary).join(' \u00b7 ');
}

// ---- sizes
const inputs = new Map();
S.sizes.forEach(s => {
  const label = add($('sizes'), 'label', s.name + ' = '), e = add(label, 'input');
  Object.assign(e, { type: 'number', min: s.lo, max: s.hi, value: D.start[s.name], id: 'size-' + s.name });
  add(label, 'small', D.follows[s.name] ? ' = ' + D.follows[s.name] :
    ' in [' + s.lo + ', ' + s.hi + ']' + (s.multiple_of > 1 ? ', multiple of ' + s.multiple_of : ''));
  e.disabled = !!D.follows[s.name];
  e.oninput = update;
  inputs.set(s.name, e);
});
for (const name in D.most) add($('sizes'), 'small', name + ' depends on data; shown at its maximum, ' + D.most[name]);
function readSizes() {
  const v = Object.create(null);
  for (const s of S.sizes) {
    if (D.follows[s.name]) continue;
    const text = inputs.get(s.name).value, n = /^-?\d+$/.test(text) ? BigInt(text) : undefined;
    const within = n !== undefined && n >= BigInt(s.lo) && n <= BigInt(s.hi);
    if (!within) return s.name + ' must be a whole number in [' + s.lo + ', ' + s.hi + ']';
    if (n % BigInt(s.multiple_of)) return s.name + ' must be a multiple of ' + s.multiple_of;
    v[s.name] = n;
  }
  for (const name in D.follows) inputs.get(name).value = v[name] = parse(D.follows[name])(v);
  for (const name in D.most) v[name] = parse(D.most[name])(v);
  for (const c of S.facts.concat(S.guards)) if (!parse(c)(v)) return 'not allowed: ' + c + ' does not hold';
  sizes = v;
  return '';
}
function update() {
  const problem = readSizes();
  $('problem').textContent = problem;
  if (problem) return;
  cells.forEach(f => f());
  drawMemory();
  drawEdges();
  showDetail();
}

// ---- selection: #op=NAME or #kernel=NUMBER
let marked = { kernels: [], ops: [], buffers: new Set(), op: '' };
const go = where => { if (location.hash === '#' + where) choose(); else location.hash = where; };
// Scrolls e to the fraction `at` of the height of its pane.
function show(box, e, at) {
  const y = e.getBoundingClientRect().top - box.getBoundingClientRect().top + box.scrollTop;
  box.scrollTop = y - box.clientHeight * at;
}
function showDetail() {
  const box = $('detail'), n = marked.kernels[0];
  box.textContent = '';
  if (marked.op && n === undefined) {
    add(box, 'p', marked.op + ' is in no kernel: it is an input, a constant or a view.');
  }
  if (n === undefined) return;
  const k = S.kernels[n], p = P.kernels[n], v = variant(n), h = add(box, 'p');
  add(h, 'b', 'kernel ' + n + ' ' + k.name);
  h.append(' ' + k.kind + ' over ' + k.domain);
  if (marked.kernels.length > 1) h.append('; also in');
  const link = (parent, text, where) => { add(parent, 'span', text, 'link').onclick = () => go(where); };
  marked.kernels.slice(1).forEach(m => link(h, ' kernel ' + m, 'kernel=' + m));
  const line = (title, text) => {
    const e = add(box, 'p');
    add(e, 'small', title + ' ');
    e.append(text);
    return e;
  };
  const formula = (title, f, to, more) => {
    const e = line(title, to(value(f)) + ' ');
    add(e, 'code', '= ' + f);
    if (more) e.append(': ' + more.join(', '));
  };
  const ops = add(box, 'p');
  add(ops, 'small', 'ops ');
  k.origins.forEach((o, i) => {
    const name = (k.results[i] || '').split(', ')[0];
    if (lines.has(name)) link(ops, o + ' \u2192 ' + k.results[i], 'op=' + name);
    else ops.append(o);
    if (i + 1 < k.origins.length) ops.append(', ');
  });
  if (p.part) line('part', 'launched by kernel ' + p.launch + ': ' + p.part.strategy + ': ' + p.part.why);
  if (v) {
    line('why', v.strategy + ': ' + v.why);
    line('launch', v.grid.join(' \u00d7 ') + ' = ' + v.grid.map(value).join(' \u00d7 ') + ' blocks of ' +
      v.threads + ' threads, ' + v.shared_bytes + ' bytes of dynamic shared memory' +
      (v.guard ? ', requires ' + v.guard : '') +
      (v.guard_aligned ? ', requires 16-byte aligned pointers' : ''));
  }
  formula('reads', k.bytes_read, bytes, k.reads.map(b => bufferText(b, tensorIn.get(b))));
  formula('writes', k.bytes_written, bytes, k.writes.map(b => bufferText(b, tensorIn.get(b))));
  formula('flops', k.flops, flops);
  if (p.launch === n) formula('predicted', p.time_ns, time);
}
function choose() {
  const [kind, name] = decodeURIComponent(location.hash.slice(1)).split('=');
  marked = { kernels: [], ops: [], buffers: new Set(), op: '' };
  if (kind === 'op' && lines.has(name)) {
    marked.op = name;
    marked.kernels = kernelsOf.get(name) || [];
    marked.ops = [name];
    const contains = b => b.name === name || b.results.some(r => r.split(', ').includes(name));
    S.buffers.filter(contains).forEach(b => marked.buffers.add(b.name));
  } else if (kind === 'kernel' && S.kernels[name]) {
    marked.kernels = [Number(name)];
    marked.ops = [].concat(...S.kernels[name].results.map(r => r.split(', '))).filter(r => lines.has(r));
    S.kernels[name].writes.forEach(b => marked.buffers.add(b));
  }
  document.querySelectorAll('.mark').forEach(e => e.classList.remove('mark'));
  marked.ops.forEach(x => lines.get(x).classList.add('mark'));
  marked.kernels.forEach(k => $('kernels').rows[k].classList.add('mark'));
  document.querySelectorAll('rect').forEach(r => {
    if (marked.buffers.has(r.dataset.buffer)) r.classList.add('mark');
  });
  showDetail();
  const k = marked.kernels[0];
  const first = k === undefined ? k : P.kernels[k].launch;
  const from = k === undefined ? k : blocks[first][Math.max(0, P.kernels[first].variants.indexOf(variant(k)))];
  $('where').textContent = from ? 'kernel ' + k + ': lines ' + from.lines.join(' to ') : '';
  if (marked.ops.length) show($('graph'), lines.get(marked.ops[0]), 0.3);
  if (k === undefined) return;
  show($('kernels').closest('.scroll'), $('kernels').rows[k], 0.4);
  if (!from) return;
  const code = from.e.querySelector('.kernel');
  code.classList.add('mark');
  show($('source'), code, 0.02);
  if (matchMedia('(max-width: 900px)').matches) $('detail').scrollIntoView();
}

// ---- passes
const log = D.passes.changes, logRows = [];
// [what the button says, which rows it shows]: all, each pass in order of its first change, near misses.
const filters = [['all', () => true]];
[...new Set(log.filter(c => !c.missed).map(c => c.pass))].forEach(p => filters.push([p, c => c.pass === p && !c.missed]));
if (log.some(c => c.missed)) filters.push(['near misses', c => c.missed]);
function filterLog(pick) {
  filters.forEach(f => f[2].classList.toggle('chosen', f === pick));
  log.forEach((c, n) => { logRows[n].hidden = !pick[1](c); });
}
// Names of tensors that are left lead to their line of the graph; in brackets are ops.
function addLogText(cell, text) {
  text.split(/(\([\w.]+\)|[A-Za-z_][\w.]*)/).forEach(part => {
    if (!lines.has(part)) return void cell.append(part);
    add(cell, 'span', part, 'link').onclick = () => go('op=' + part);
  });
}
log.forEach(c => {
  const row = add($('passes').querySelector('tbody'), 'tr', undefined, c.missed ? 'missed' : '');
  add(row, 'td', c.pass, 'line');
  const cell = add(row, 'td', undefined, 'mono');
  if (c.missed) add(cell, 'span', 'near miss: ', 'no');
  addLogText(cell, c.text);
  logRows.push(row);
});
filters.forEach(f => {
  f[2] = add($('filters'), 'button', f[0] + ' ' + log.filter(f[1]).length);
  f[2].onclick = () => filterLog(f);
});
const unseen = D.passes.misses - log.filter(c => c.missed).length;
if (unseen > 0) add($('filters'), 'small', 'and ' + unseen + ' more near misses');
filterLog(filters[0]);
if (!log.length) $('passes').closest('section').hidden = true;

// ---- the page
const launches = P.kernels.filter((k, n) => k.launch === n).length;
document.querySelector('h1').textContent = S.kernels.length + ' kernels' +
  (launches < S.kernels.length ? ' in ' + launches + ' launches' : '') + ' of ' + D.name + ' for ' + P.arch;
const facts = document.querySelector('.facts');
[['predicted', P.time_ns, time], ['read', D.bytes_read, bytes], ['written', D.bytes_written, bytes],
  ['flops', D.flops, flops], ['arena', S.arena_bytes, bytes], ['peak', S.peak_bytes, bytes],
  ['unfused', S.unfused_bytes, bytes]].forEach(f => {
  const e = add(facts, 'span', f[0] + ' ');
  cell(e, 'b', f[1], f[2]).id = 'total-' + f[0].replace(/ /g, '-');
});
add(facts, 'small', 'Predicted time of a launch: the longest of ' + P.launch_ns + ' ns, its bytes at ' +
  P.copy_percent + ' % of ' + P.memory_bytes_per_ns + ' GB/s, and its flops at the data sheet\u2019s rate.');
update();
choose();
onhashchange = choose;
onresize = drawMemory;
