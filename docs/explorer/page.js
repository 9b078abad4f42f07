// The page: tabs, sliders, one plot, and a loop that asks for further trials. All numbers come from the module.
'use strict';

const byId = (id) => document.getElementById(id);
const state = {panels: [], panel: null, settings: {}, seed: 1, picture: null, series: [], running: true, trials: 0, round: 0};
let module = null;

const call = (name, types, values) => {
  const answer = JSON.parse(module.ccall('explorer_' + name, 'string', types, values));
  if (answer && answer.error) throw new Error(answer.error);
  return answer;
};

const shortText = (value, digits = 4) => {
  if (value === null || !Number.isFinite(value)) return '';
  const size = Math.abs(value);
  return size !== 0 && (size < 1e-3 || size >= 1e6) ? value.toExponential(digits - 1).replace(/\.?0+e/, 'e').replace('e+', 'e') : String(Number(value.toPrecision(digits)));
};

// ---- sliders: positions 0 ... 1000 ----

const isLogarithmic = (scale) => scale.includes('logarithmic');

function valueAt(slider, position) {
  const share = position / 1000;
  let value = isLogarithmic(slider.scale) ? slider.low * (slider.high / slider.low) ** share : slider.low + share * (slider.high - slider.low);
  if (slider.scale.startsWith('whole')) {
    const step = slider.step || 1;
    value = Math.min(slider.high, Math.max(slider.low, Math.round(value / step) * step));
  } else {
    value = Number(value.toPrecision(3));
  }
  return value;
}

function positionOf(slider, value) {
  const share = isLogarithmic(slider.scale) ? Math.log(value / slider.low) / Math.log(slider.high / slider.low)
                                            : (value - slider.low) / (slider.high - slider.low);
  return 1000 * share;
}

function element(name, attributes = {}, text = '') {
  const made = document.createElement(name);
  for (const key of Object.keys(attributes)) made.setAttribute(key, attributes[key]);
  made.textContent = text;
  return made;
}

function showSliders() {
  byId('sliders').replaceChildren(...state.panel.sliders.map((slider) => {
    const label = element('label', {class: 'slider'}), line = element('span', {}, slider.label);
    const output = element('output', {}, shortText(state.settings[slider.name], 8));
    const input = element('input', {type: 'range', min: 0, max: 1000, step: 1, name: slider.name});
    input.value = positionOf(slider, state.settings[slider.name]);
    input.addEventListener('input', () => {
      state.settings[slider.name] = valueAt(slider, Number(input.value));
      output.textContent = shortText(state.settings[slider.name], 8);
      restart();
    });
    line.append(output);
    label.append(line, input);
    return label;
  }));
}

// ---- the plot ----

const frame = {width: 720, height: 440, left: 64, right: 16, top: 14, bottom: 48};

function ticksOf(low, high, logarithmic) {
  const ticks = [];
  if (logarithmic) {
    const decades = Math.log10(high / low), factors = decades < 1.6 ? [1, 2, 3, 5] : decades < 3 ? [1, 3] : [1];
    const every = Math.max(1, Math.ceil(decades / 8));
    for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power += every) {
      for (const factor of factors) {
        const tick = factor * 10 ** power;
        if (tick >= low * 0.999 && tick <= high * 1.001) ticks.push(tick);
      }
    }
    return ticks;
  }
  const rough = (high - low) / 6, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((f) => f * power).find((f) => f >= rough);
  for (let tick = Math.ceil(low / step) * step; tick <= high + 1e-9 * step; tick += step) ticks.push(tick);
  return ticks;
}

function axisOf(values, logarithmic) {
  const finite = values.filter((v) => Number.isFinite(v) && (!logarithmic || v > 0));
  let low = Math.min(...finite), high = Math.max(...finite);
  if (!(low < high)) [low, high] = logarithmic ? [low / 2, high * 2] : [low - 1, high + 1];
  return {low, high, logarithmic};
}

function placeOn(axis, from, to) {
  const map = axis.logarithmic ? Math.log : (v) => v;
  const low = map(axis.low), high = map(axis.high);
  return (value) => from + (map(value) - low) / (high - low) * (to - from);
}

function draw() {
  const {panel, picture, series} = state, logarithmicY = panel.y_scale === 'logarithmic';
  const xAxis = axisOf(picture.x, picture.x[0] > 0 && picture.x[picture.x.length - 1] / picture.x[0] > 9);
  const ends = series.flatMap((s) => s.points.map((p) => p.mean));
  const yAxis = axisOf([...picture.curves.flatMap((c) => c.values), ...ends], logarithmicY);
  if (!logarithmicY) { const room = 0.04 * (yAxis.high - yAxis.low); yAxis.low -= room; yAxis.high += room; }
  else { const room = (yAxis.high / yAxis.low) ** 0.03; yAxis.low /= room; yAxis.high *= room; }
  const x = placeOn(xAxis, frame.left, frame.width - frame.right), y = placeOn(yAxis, frame.height - frame.bottom, frame.top);
  const parts = [];
  const bottom = frame.height - frame.bottom, right = frame.width - frame.right;
  for (const tick of ticksOf(xAxis.low, xAxis.high, xAxis.logarithmic)) {
    parts.push(`<line class="grid" x1="${x(tick)}" x2="${x(tick)}" y1="${frame.top}" y2="${bottom}"/>`,
               `<text x="${x(tick)}" y="${bottom + 18}" text-anchor="middle">${shortText(tick, 3)}</text>`);
  }
  for (const tick of ticksOf(yAxis.low, yAxis.high, yAxis.logarithmic)) {
    parts.push(`<line class="grid" x1="${frame.left}" x2="${right}" y1="${y(tick)}" y2="${y(tick)}"/>`,
               `<text x="${frame.left - 8}" y="${y(tick) + 4}" text-anchor="end">${shortText(tick, 3)}</text>`);
  }
  parts.push(`<text x="${(frame.left + right) / 2}" y="${frame.height - 8}" text-anchor="middle">${panel.x_label}</text>`,
             `<text transform="translate(14 ${(frame.top + bottom) / 2}) rotate(-90)" text-anchor="middle">${panel.y_label}</text>`);
  if (picture.marked >= xAxis.low && picture.marked <= xAxis.high) {
    parts.push(`<line class="mark" x1="${x(picture.marked)}" x2="${x(picture.marked)}" y1="${frame.top}" y2="${bottom}"/>`);
  }
  picture.curves.forEach((curve, i) => {
    const lineOf = (isShown) => curve.values.map((v, j) => [picture.x[j], v, j])
      .filter(([, v, j]) => Number.isFinite(v) && (!logarithmicY || v > 0) && isShown(j))
      .map(([a, b]) => `${x(a).toFixed(1)},${y(b).toFixed(1)}`).join(' ');
    const first = curve.in_range.indexOf(true), last = curve.in_range.lastIndexOf(true);
    const inRange = (j) => first >= 0 && j >= first && j <= last && curve.in_range.slice(first, j + 1).every(Boolean);
    if (curve.in_range.includes(false)) parts.push(`<polyline class="beyond curve${i}" points="${lineOf(() => true)}"/>`);
    parts.push(`<polyline class="curve curve${i} ${curve.is_approximation ? 'approximation' : ''}" points="${lineOf(inRange)}"/>`);
    if (curve.least && curve.least.x >= xAxis.low && curve.least.x <= xAxis.high) {
      parts.push(`<circle class="least curve${i}" cx="${x(curve.least.x)}" cy="${y(curve.least.value)}" r="7"/>`);
    }
  });
  let seriesIndex = 0;
  picture.curves.forEach((curve, i) => {
    if (!curve.is_simulated || seriesIndex >= series.length) return;
    for (const point of series[seriesIndex++].points) {
      if (!Number.isFinite(point.mean) || (logarithmicY && !(point.mean > 0))) continue;
      const low = Math.max(point.mean - 2 * point.error, logarithmicY ? yAxis.low : -Infinity), high = point.mean + 2 * point.error;
      if (Number.isFinite(point.error)) {
        parts.push(`<line class="bar curve${i}" x1="${x(point.x)}" x2="${x(point.x)}" y1="${y(low)}" y2="${y(high)}"/>`);
      }
      parts.push(`<circle class="point ${point.in_range ? '' : 'hollow '}curve${i}" cx="${x(point.x)}" cy="${y(point.mean)}" r="3.5"/>`);
    }
  });
  const plot = byId('plot');
  plot.setAttribute('viewBox', `0 0 ${frame.width} ${frame.height}`);
  plot.setAttribute('aria-label', `${panel.y_label} against ${panel.x_label}`);
  plot.innerHTML = parts.join('');
}

function fillTable(table, rows, gray = new Set()) {
  table.replaceChildren(...rows.map((row, i) => {
    const line = element('tr', gray.has(i) ? {class: 'gray'} : {});
    line.append(...row.map((cell) => element(i === 0 ? 'th' : 'td', {}, cell)));
    return line;
  }));
}

const leastText = (curve) => curve.least ? `${shortText(curve.least.value, 5)} at τ* = ${shortText(curve.least.x, 4)}` : '';

function showNumbers() {
  const {panel, picture, series} = state;
  fillTable(byId('marked'), [[panel.x_label, ...picture.curves.map((c) => c.name)],
                             [shortText(picture.marked, 8), ...picture.curves.map((c) => shortText(c.marked, 5))],
                             ...(picture.curves.some((c) => c.least) ? [['least', ...picture.curves.map(leastText)]] : [])]);
  const gray = new Set();
  const states = picture.curves.some((c) => c.in_range.includes(false)) || series.some((c) => c.points.some((p) => p.theory_error > 0));
  const rows = [['simulated', panel.x_label, 'theory', ...(states ? ['it may be off by'] : []), 'simulation', '± error', 'z', 'trials']];
  for (const curve of series) {
    for (const p of curve.points) {
      const digits = Math.max(2, Math.min(8, 2 + Math.ceil(Math.log10(Math.abs(p.mean) / p.error) || 0)));
      rows.push([curve.name, shortText(p.x, 7), shortText(p.theory, digits),
                 ...(states ? [shortText(100 * p.theory_error, 2) + ' %'] : []), shortText(p.mean, digits), shortText(p.error, 2),
                 p.z === null ? '' : p.z.toFixed(2), String(p.trials)]);
      if (!p.in_range) gray.add(rows.length - 1);
    }
  }
  fillTable(byId('points'), rows, gray);
  byId('note').textContent = 'z is the deviation of the simulation from theory in standard errors. Points of one curve share their draws, ' +
      'and few trials of a rare event give an error that is too small.' + ' A bar that is shorter than its point is not seen.' +
      (states ? ' Of a dashed curve z counts only what is beyond the error that the approximation states; where that is more than 5 %, the curve is dotted, its points are hollow, and their lines here are gray.' : '');
}

function showVerdict({looks, judged, disagreements, largest, bound}) {
  const points = `${judged} point${judged === 1 ? '' : 's'}`;
  byId('verdict').textContent = judged === 0 ? 'Too few trials to judge.' :
      (disagreements === 0 ? `Theory and simulation agree at all ${points}` : `Theory and simulation disagree at ${disagreements} of ${points}`) +
      `: largest |z| ${largest.toFixed(2)}, bound ${bound.toFixed(2)} for so many points and ${looks} look${looks === 1 ? '' : 's'}.`;
  byId('verdict').classList.toggle('wrong', disagreements > 0);
}

function showLegend() {
  byId('legend').replaceChildren(...state.picture.curves.map((curve, i) => {
    const item = element('li'), sample = element('i', {class: `curve${i} ${curve.is_approximation ? 'approximation' : ''}`});
    item.append(sample, curve.name);
    return item;
  }));
  const also = (kind, text) => {
    const item = element('li');
    item.append(element('i', {class: kind}), text);
    byId('legend').append(item);
  };
  if (state.picture.curves.some((c) => c.in_range.includes(false))) also('beyond', 'out of the approximation\'s range');
}

// ---- the loop ----

function say(text, wrong = false) {
  byId('status').textContent = text;
  byId('status').classList.toggle('wrong', wrong);
}

function complain(error) {
  state.running = false;
  nameButton();
  say(error.message, true);
}

function restart() {
  state.series = [];
  state.trials = 64;
  state.round += 1;
  try {
    const settings = JSON.stringify(state.settings);
    state.picture = call('theory', ['string', 'string'], [state.panel.name, settings]);
    call('start', ['string', 'string', 'number'], [state.panel.name, settings, state.seed]);
    say('');
    byId('verdict').textContent = '';
    draw();
    showLegend();
    showNumbers();
  } catch (error) { complain(error); return; }
  const round = state.round;
  setTimeout(() => loop(round), 150);
}

function drawTrials(trials) {
  const before = performance.now();
  state.series = call('step', ['number'], [trials]);
  const took = performance.now() - before;
  draw();
  showNumbers();
  showVerdict(call('verdict', [], []));
  return took;
}

// One step takes about 50 milliseconds, so that the sliders stay alive.
function loop(round) {
  if (!state.running || round !== state.round) return;
  try {
    const took = drawTrials(state.trials);
    if (took < 25) state.trials = Math.min(65536, state.trials * 2);
    if (took > 100) state.trials = Math.max(64, Math.round(state.trials / 2));
    setTimeout(() => loop(round), 10);
  } catch (error) { complain(error); }
}

function choose(panel) {
  state.panel = panel;
  state.settings = Object.fromEntries(panel.sliders.map((slider) => [slider.name, slider.start]));
  for (const tab of byId('tabs').children) tab.setAttribute('aria-selected', String(tab.dataset.panel === panel.name));
  byId('title').textContent = panel.title;
  byId('text').textContent = panel.text;
  byId('source').textContent = 'Source: ' + panel.source;
  showSliders();
  restart();
}

const nameButton = () => { byId('pause').textContent = state.running ? 'Pause' : 'Simulate'; };

function run(running) {
  state.running = running;
  nameButton();
  if (running) { state.round += 1; loop(state.round); }
}

// With #test, every panel is drawn and simulated where its sliders start, and what was found is left in the page; with
// #test=NAME, that panel alone.
function test(panels) {
  state.running = false;
  nameButton();
  const found = panels.map((panel) => {
    choose(panel);
    drawTrials(1024);
    drawTrials(1024);
    return {name: panel.name, theory: state.picture, simulated: state.series, curves: document.querySelectorAll('#plot .curve').length,
            points: document.querySelectorAll('#plot .point').length, status: byId('status').textContent};
  });
  const result = element('script', {type: 'application/json', id: 'found'}, JSON.stringify(found));
  document.body.append(result);
}

window.addEventListener('error', (event) => document.body.append(element('pre', {class: 'script-error'}, event.message)));

createExplorer().then((made) => {
  module = made;
  byId('loading').hidden = true;
  document.querySelector('main').hidden = false;
  state.panels = call('describe', [], []);
  byId('tabs').replaceChildren(...state.panels.map((panel) => {
    const tab = element('button', {role: 'tab', 'data-panel': panel.name}, panel.tab);
    tab.addEventListener('click', () => { location.hash = panel.name; choose(panel); });
    return tab;
  }));
  byId('pause').addEventListener('click', () => run(!state.running));
  byId('again').addEventListener('click', () => { state.seed += 1; restart(); });
  byId('reset').addEventListener('click', () => { state.seed = 1; choose(state.panel); });
  if (location.hash.startsWith('#test')) {
    test(state.panels.filter((panel) => ['#test', '#test=' + panel.name].includes(location.hash)));
    return;
  }
  nameButton();
  choose(state.panels.find((panel) => '#' + panel.name === location.hash) || state.panels[0]);
}).catch((error) => {
  if (byId('loading').hidden) say('The explorer cannot start: ' + error.message, true);
  else byId('loading').textContent = 'The explorer cannot start: ' + error.message;
});
