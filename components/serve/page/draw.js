// Draws answers: boxes over the image, and the list beside it. Both carry data attributes with the answer's values.

const MANY = 25; // boxes from which their labels would hide the image

export const $ = (id) => document.getElementById(id);

export function element(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

export function percent(score) {
  return `${(score * 100).toFixed(score < 0.1 ? 1 : 0)} %`;
}

export function clear() {
  $("answers").replaceChildren();
  $("boxes").replaceChildren();
}

export function drawObjects(objects, answer, classes) {
  $("boxes").replaceChildren(...objects.map((object) => mark(box(object, answer), object, classes)));
  $("boxes").classList.toggle("many", objects.length > MANY);
  $("boxes").classList.remove("some-lit");
  $("answers").replaceChildren(...objects.map((object, index) => objectRow(object, index, classes)));
}

export function drawLabels(labels, classes) {
  const rows = labels.map((label, index) => {
    const bar = element("i");
    bar.style.width = `${100 * label.score}%`;
    const parts = [...rowParts(label), element("span", { className: "bar" }, bar)];
    const row = element("div", { className: index === 0 ? "row first" : "row" }, ...parts);
    return element("li", {}, mark(row, label, classes));
  });
  $("answers").replaceChildren(...rows);
}

// One colour per class: the golden angle keeps neighbours apart, however many there are.
function paint(target, index) {
  const hue = (210 + index * 137.508) % 360;
  const light = hue > 40 && hue < 200; // yellow to cyan are bright: dark text on them
  target.style.setProperty("--hue", `hsl(${hue} 78% ${light ? 45 : 52}%)`);
  target.style.setProperty("--on-hue", light ? "#06140f" : "#ffffff");
}

function mark(target, found, classes) {
  paint(target, classes.indexOf(found.label));
  target.dataset.label = found.label;
  target.dataset.score = found.score;
  if (found.box) target.dataset.box = JSON.stringify(found.box);
  return target;
}

function box(object, { width, height }) {
  const { y_min, x_min, y_max, x_max } = object.box;
  const tag = element("span", { textContent: `${object.label} ${percent(object.score)}` });
  const made = element("div", { className: "box" }, tag);
  made.style.left = `${(100 * x_min) / width}%`;
  made.style.top = `${(100 * y_min) / height}%`;
  made.style.width = `${(100 * (x_max - x_min)) / width}%`;
  made.style.height = `${(100 * (y_max - y_min)) / height}%`;
  // The label stays inside the image at its upper and right edge.
  made.classList.toggle("top", y_min < height * 0.06);
  made.classList.toggle("end", x_min > width * 0.8);
  return made;
}

function rowParts(found) {
  return [
    element("span", { className: "swatch" }),
    element("span", { className: "label", textContent: found.label, title: found.label }),
    element("span", { className: "percent", textContent: percent(found.score) }),
  ];
}

function objectRow(object, index, classes) {
  const row = element("button", { type: "button", className: "row" }, ...rowParts(object));
  row.setAttribute("aria-pressed", "false");
  row.addEventListener("click", () => {
    const on = row.getAttribute("aria-pressed") === "false";
    for (const other of rows()) other.setAttribute("aria-pressed", "false");
    row.setAttribute("aria-pressed", String(on));
    light(on ? index : null);
  });
  for (const event of ["mouseenter", "focus"]) row.addEventListener(event, () => light(index));
  for (const event of ["mouseleave", "blur"]) row.addEventListener(event, () => light(pressed()));
  return element("li", {}, mark(row, object, classes));
}

function rows() {
  return [...$("answers").querySelectorAll("button")];
}

function pressed() {
  const index = rows().findIndex((row) => row.getAttribute("aria-pressed") === "true");
  return index < 0 ? null : index;
}

function light(index) {
  [...$("boxes").children].forEach((one, at) => one.classList.toggle("lit", at === index));
  $("boxes").classList.toggle("some-lit", index !== null);
}
