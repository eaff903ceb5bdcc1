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
    r.tabIndex = 0;
    onEnter(r, () => go('kernel=' + e.to_kernel));
  });
  const summary = ([code, s]) => s[0] + ' ' + code + (s[2].fused ? ' save ' : ' cost ') + bytes(s[1]);
  $('reasons').textContent = [...sum].map(summary).join(' \u00b7 ');
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
    const link = add(cell, 'span', part, 'link');
    link.tabIndex = 0;
    onEnter(link, () => go('op=' + part));
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
