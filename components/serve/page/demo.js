// The demo page: sends an image to the chosen model and shows its answer. No framework, nothing from elsewhere.

import { $, clear, drawLabels, drawObjects, element, percent } from "./draw.js";

const VERBS = { detection: "detect", classification: "classify" };
const DEFAULT_SCORE = 50; // percent: what most detectors call a find
const LOADING_MS = 1000; // between two questions whether the models are loaded
const SMALL = 360; // pixels of the longer side, from which an image is shown as large as it is

let models = [];
let current = null; // {blob, name, url}: the image on the stage; url where it is a sample
let answer = null; // the server's last answer, and the model that was asked
let asking = null; // AbortController of the request under way

function model() {
  return models.find((one) => one.name === $("model").value);
}

function fail(message) {
  $("error").textContent = message;
  $("error").hidden = false;
  $("status").textContent = "No answer.";
}

async function ask(url, options) {
  let response;
  try {
    response = await fetch(url, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error("The server does not answer. Is it still running?");
  }
  if (response.ok) return response;
  const body = await response.json().catch(() => ({}));
  throw Object.assign(new Error(body.error || `The server answered ${response.status}.`), { status: response.status });
}

// --- models and samples

async function start() {
  try {
    models = (await (await ask("v1/models")).json()).models;
  } catch (error) {
    if (error.status !== 503) return fail(error.message);
    $("status").textContent = "The models are being loaded…";
    setTimeout(start, LOADING_MS);
    return;
  }
  $("model").replaceChildren(...models.map((one) => element("option", { value: one.name, textContent: one.name })));
  $("model").disabled = models.length < 2;
  $("status").textContent = "Choose an image, and the model's answer appears here.";
  await choose();
}

async function choose() {
  const chosen = model();
  $("about").textContent = `version ${chosen.version} · ${chosen.task} · ${chosen.classes.length} classes`;
  try {
    const card = await (await ask(`v1/models/${chosen.name}/metadata`)).json();
    if (model() !== chosen) return;
    showSamples(chosen, card.samples.length);
    const least = card.post ? Math.ceil(card.post.score_threshold * 100) : 0;
    $("score").min = least;
    $("score").value = Math.max(least, DEFAULT_SCORE);
  } catch (error) {
    fail(error.message);
  }
  if (current) await send();
}

function showSamples(chosen, count) {
  const buttons = Array.from({ length: count }, (_, index) => {
    const url = `samples/${chosen.name}/${index}`;
    const button = element("button", { type: "button" }, element("img", { src: url, alt: `Sample ${index + 1}` }));
    button.setAttribute("aria-pressed", "false");
    button.addEventListener("click", async () => {
      try {
        const blob = await (await ask(url)).blob();
        const done = take(blob, `Sample ${index + 1} of ${chosen.name}`, url);
        button.setAttribute("aria-pressed", "true");
        await done;
      } catch (error) {
        fail(error.message);
      }
    });
    return element("li", {}, button);
  });
  $("samples").replaceChildren(...buttons);
  $("sample-area").hidden = count === 0;
}

// --- an image comes in

async function take(blob, name, url = null) {
  current = { blob, name, url };
  for (const button of $("samples").querySelectorAll("button")) button.setAttribute("aria-pressed", "false");
  $("name").textContent = name;
  const image = $("image");
  URL.revokeObjectURL(image.src);
  image.src = URL.createObjectURL(blob);
  image.alt = name;
  await send();
}

async function send() {
  asking?.abort();
  const mine = (asking = new AbortController());
  const chosen = model();
  if (!chosen) return;
  forget();
  $("busy").hidden = false;
  $("status").textContent = `Asking ${chosen.name}…`;
  const path = `v1/models/${chosen.name}:${VERBS[chosen.task]}`;
  const headers = { "content-type": "application/octet-stream" };
  const began = performance.now();
  try {
    const response = await ask(path, { method: "POST", body: current.blob, headers, signal: mine.signal });
    const found = await response.json();
    const roundTrip = performance.now() - began;
    await stage(found);
    if (asking !== mine) return;
    answer = { ...found, classes: chosen.classes };
    show();
    showFacts(roundTrip);
    showCurl(path);
  } catch (error) {
    if (error.name === "AbortError") return;
    $("stage").classList.add("empty");
    $("frame").hidden = true;
    $("invite").hidden = false;
    fail(error.message);
  } finally {
    if (asking === mine) $("busy").hidden = true;
  }
}

function forget() {
  answer = null;
  for (const id of ["error", "threshold", "facts", "repeat"]) $(id).hidden = true;
  clear();
}

// --- an answer goes out

async function stage({ width, height }) {
  const frame = $("frame");
  // The server reads kinds of images that a browser does not (TIFF): then the boxes lie on an empty frame.
  const image = $("image");
  const seen = await image.decode().then(() => true, () => false);
  // A small image is shown larger: its boxes could hardly be told apart.
  const longer = Math.max(image.naturalWidth, image.naturalHeight);
  image.style.width = seen && longer < SMALL ? `${(SMALL * image.naturalWidth) / longer}px` : "";
  frame.classList.toggle("blind", !seen);
  frame.style.aspectRatio = seen ? "" : `${width} / ${height}`;
  frame.hidden = false;
  $("invite").hidden = true;
  $("stage").classList.remove("empty");
}

function show() {
  if (!answer) return;
  if (answer.labels) {
    const [best] = answer.labels;
    $("status").textContent = `${best.label}, ${percent(best.score)}`;
    drawLabels(answer.labels, answer.classes);
    return;
  }
  const least = Number($("score").value) / 100;
  const shown = answer.objects.filter((object) => object.score >= least);
  $("threshold").hidden = false;
  $("score-shown").textContent = `${$("score").value} %`;
  $("status").textContent = summary(shown);
  drawObjects(shown, answer, answer.classes);
}

function summary(shown) {
  const below = answer.objects.length - shown.length;
  const rest = below ? ` ${below} more with lower scores.` : "";
  if (!shown.length) return `No objects found.${rest}`;
  const counts = new Map();
  for (const { label } of shown) counts.set(label, (counts.get(label) || 0) + 1);
  const kinds = [...counts].map(([label, count]) => `${count} × ${label}`).join(", ");
  return `${shown.length} ${shown.length === 1 ? "object" : "objects"}: ${kinds}.${rest}`;
}

function showFacts(roundTrip) {
  const { total, decode, inference } = answer.milliseconds;
  const facts = [
    ["Model", `${answer.model}, version ${answer.version}`],
    ["Image", `${answer.width} × ${answer.height} pixels`],
    ["Latency", `${total.toFixed(1)} ms: decode ${decode.toFixed(1)}, inference ${inference.toFixed(1)}`],
    ["Round trip", `${roundTrip.toFixed(0)} ms`],
  ];
  $("facts").replaceChildren(
    ...facts.flatMap(([term, text]) => [element("dt", { textContent: term }), element("dd", { textContent: text })]),
  );
  $("facts").hidden = false;
}

function showCurl(path) {
  const quoted = (text) => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);
  const address = (relative) => quoted(new URL(relative, location.href).href);
  const { name, url } = current;
  const post = `curl --data-binary ${quoted(url ? "@-" : `@${name}`)} ${address(path)}`;
  $("curl").textContent = url ? `curl -s ${address(url)} |\n  ${post}` : post;
  $("repeat").hidden = false;
}

// --- what a person does

$("file").addEventListener("change", () => {
  const [file] = $("file").files;
  if (file) take(file, file.name);
  $("file").value = ""; // the same file again is a change too
});
$("model").addEventListener("change", choose);
$("score").addEventListener("input", show);
$("copy").addEventListener("click", async () => {
  try {
    await navigator.clipboard.writeText($("curl").textContent);
    $("copy").textContent = "Copied";
  } catch {
    getSelection().selectAllChildren($("curl")); // no clipboard without https: the person copies it
    $("copy").textContent = "Press Ctrl-C";
  }
});
addEventListener("paste", (event) => {
  const [file] = event.clipboardData.files;
  if (file) take(file, file.name || "pasted.png");
});
addEventListener("dragover", (event) => {
  event.preventDefault();
  document.body.classList.add("over");
});
addEventListener("dragleave", (event) => {
  if (!event.relatedTarget) document.body.classList.remove("over");
});
addEventListener("drop", (event) => {
  event.preventDefault();
  document.body.classList.remove("over");
  const [file] = event.dataTransfer.files;
  if (file) take(file, file.name);
});

start();
