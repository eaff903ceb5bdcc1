'use strict';
const D = JSON.parse(document.getElementById('data').textContent), S = D.schedule, P = D.plan;
const $ = id => document.getElementById(id), SVG = 'http://www.w3.org/2000/svg', last = a => a[a.length - 1];
function add(parent, tag, text, name) {
  const e = parent.namespaceURI === SVG ? document.createElementNS(SVG, tag) : document.createElement(tag);
  if (text !== undefined) e.textContent = text;
  if (name) e.setAttribute('class', name);
  return parent.appendChild(e);
}
// A click on e, or Enter while it has the focus, calls f.
function onEnter(e, f) {
  e.onclick = f;
  e.addEventListener('keydown', event => { if (event.key === 'Enter') f(); });
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
