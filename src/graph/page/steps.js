// ---- CUDA: one block per distinct source, with the compiler's line numbers
const blocks = S.kernels.map(() => []);
D.sources.forEach((s, number) => {
  const all = s.text.replace(/\n$/, '').split('\n');
  const start = Math.max(0, all.findIndex(x => /__global__|void ind_part_0\(/.test(x)));
  const e = add($('source'), 'div', undefined, 'source');
  add(e, 'pre', all.map((x, i) => i + 1).join('\n'), 'numbers');
  const code = add(e, 'pre');
  if (start) add(code, 'span', all.slice(0, start).join('\n') + '\n', 'prelude');
  add(code, 'span', all.slice(start).join('\n'), 'kernel').dataset.line = start + 1;
  s.used_by.forEach(u => { blocks[u[0]][u[1]] = { e: e, lines: [start + 1, all.length], number }; });
});

// ---- steps of lowering, side by side
// The parts of a text that begin with `head` and a number, by that number.
function partsOf(text, head) {
  const parts = new Map();
  let part;
  text.split('\n').forEach(line => {
    const m = head.exec(line);
    if (m) parts.set(Number(m[1]), part = []);
    else if (/^\S/.test(line) && !/^(graph |\})/.test(line)) part = undefined;
    if (part) part.push(line);
  });
  return parts;
}
const texts = { loops: partsOf(D.loops, /^loop (\d+) /), schedule: partsOf(D.schedule_text, /^kernel (\d+) /),
  kernel: partsOf(D.kernels_text, /^# kernel (\d+) /), plan: partsOf(D.plan_text, /^kernel (\d+) /) };
const textOf = (step, n) => (texts[step].get(n) || []).join('\n').trimEnd();
// The source of the variant of kernel n at the sizes of the page.
function sourceOf(n) {
  const first = P.kernels[n].launch;
  return blocks[first][Math.max(0, P.kernels[first].variants.indexOf(variant(n)))];
}
function sassOf(n) {
  const b = sourceOf(n);
  return b && D.sass.length ? (D.sass[b.number] || '').replace(/ {8,}/g, '    ') : '';
}
const stepTexts = {
  loops: n => D.kernel_of_loop.map((k, l) => (k === n ? textOf('loops', l) : '')).filter(x => x).join('\n\n'),
  schedule: n => textOf('schedule', n), kernel: n => textOf('kernel', n) || D.no_kernels, plan: n => textOf('plan', n),
  sass: n => sassOf(n) || (D.sass.length ? 'This kernel has no source.' : 'No SASS in this page: `ind emit FILE --html ' +
    '--sass FOLDER` adds it. It needs nvdisasm of the CUDA toolkit.') };
function fillSteps() {
  for (const step in stepTexts) {
    const list = marked.kernels.slice(0, 8).map(stepTexts[step]), more = marked.kernels.length - list.length;
    if (more > 0) list.push('and ' + more + ' more kernels');
    $('text-' + step).textContent = list.length ? list.join('\n\n') : 'Select an op or a kernel.';
    $('text-' + step).classList.toggle('dim', !list.length);
  }
}

// Buttons hide and show columns. In a narrow window they are tabs: one column is visible.
const narrow = matchMedia('(max-width: 900px)'), columns = [...document.querySelectorAll('#columns > div')];
let hidden = new Set(['column-kernel']), tab = 'column-cuda';
function showColumns() {
  columns.forEach(c => {
    c.hidden = narrow.matches ? c.id !== tab : hidden.has(c.id);
    $('button-' + c.id).setAttribute('aria-pressed', !c.hidden);
  });
}
columns.forEach(c => {
  const b = add($('buttons'), 'button', c.querySelector('h3').firstChild.textContent.trim());
  b.id = 'button-' + c.id;
  b.onclick = () => {
    tab = c.id;
    if (!narrow.matches && !hidden.delete(c.id)) hidden.add(c.id);
    showColumns();
    if (!c.hidden) scrollSteps();
  };
});
showColumns();
narrow.addEventListener('change', showColumns);
