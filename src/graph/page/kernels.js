// ---- kernels
function variant(n) {
  const all = P.kernels[P.kernels[n].launch].variants;
  return all.find(v => v.guard === null || value(v.guard)) || last(all);
}
// The predicted time of what is measured as launch n. A persistent launch runs the launches after it, whose times are 0.
function predictedOf(n) {
  let sum = value(P.kernels[n].time_ns);
  for (let k = n + 1; k < P.kernels.length && !D.measured.launches[k]; k++) sum += value(P.kernels[k].time_ns);
  return Number(sum);
}
// Measured times belong to the sizes that the page starts with.
const isMeasured = () => S.sizes.every(s => D.follows[s.name] || sizes[s.name] === BigInt(D.start[s.name]));
function showMeasured(e, n) {
  const ns = D.measured.launches[n];
  e.dataset.measured = n;
  cells.push(() => {
    const percent = Math.round(100 * predictedOf(n) / ns);
    e.textContent = isMeasured() && ns ? time(ns) + ', ' + percent + ' %' : '';
    e.title = ns ? 'predicted time / measured time: ' + percent + ' %' : '';
  });
}
if (D.measured) {
  const head = $('kernels').closest('table').querySelector('tr');
  const th = document.createElement('th');
  th.className = 'num';
  th.textContent = 'measured';
  head.insertBefore(th, head.lastElementChild);
}
S.kernels.forEach((k, n) => {
  const r = add($('kernels'), 'tr', undefined, 'click'), name = add(r, 'td', n, 'line');
  name.style.borderLeft = '4px solid ' + hue(n);
  const ops = k.origins.map((o, i) => k.results[i] && k.results[i] !== o ? o + ' \u2192 ' + k.results[i] : o);
  const names = add(r, 'td');
  names.title = ops.join('\n');
  k.name.split(/(?<=_)/).forEach((part, i) => names.append(...(i ? [document.createElement('wbr'), part] : [part])));
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
  if (D.measured) showMeasured(add(r, 'td', '', 'num'), n);
  const t = cell(r, 'td', P.kernels[n].time_ns, x => (own ? time(x) : ''), 'num');
  cells.push(() => {
    const part = 100 * Number(t.dataset.value) / Number(longest) + '%';
    t.style.background = 'linear-gradient(to right, var(--bar) ' + part + ', transparent ' + part + ')';
  });
  r.tabIndex = 0;
  r.dataset.kernel = n;
  onEnter(r, () => go('kernel=' + n));
});
let longest = 1n;
cells.unshift(() => { longest = P.kernels.reduce((m, k) => calls.Max([m, value(k.time_ns)]), 1n); });
