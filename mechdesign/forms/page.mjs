// The page of a form: draws the report of an answer where the person is, and sends only that.
//
// What is to be sent is kept until a collector has it, so that an answer counts once, whatever
// happens on the way; once it has it, nothing is kept but that this device has answered.

import { Client, kernels, send } from "./client.mjs";

const page = JSON.parse(document.getElementById("form").textContent);
const form = document.querySelector("form");
const message = document.getElementById("message");
const button = form.querySelector("button");
const next = document.getElementById("next");
const chosen = document.getElementById("language");
const digests = kernels.map((one) => one.digest).join(" ");
const place = `mechdesign form ${page.survey} ${digests}`;

let language = page.languages[0];
// What the message says: the name of a text, and what is filled in for each language.
let said = null;

/** What is kept of this page: whose turn it is, reports that are on their way, or that all is done. */
function kept() {
  return JSON.parse(localStorage.getItem(place) ?? "{}");
}

/** A name for a person of a shared device, which leaves it never. */
function somebody() {
  return Array.from(crypto.getRandomValues(new Uint32Array(4)), String).join(" ");
}

function keep(state) {
  localStorage.setItem(place, JSON.stringify(state));
}

function speak() {
  const texts = page.texts[language];
  document.documentElement.lang = language;
  document.title = texts.title;
  for (const part of document.querySelectorAll("[data-text]")) {
    part.textContent = texts[part.dataset.text];
  }
  if (chosen) chosen.setAttribute("aria-label", texts.other);
  button.textContent = texts[button.dataset.text];
  message.textContent = said === null ? "" : fill(texts[said.text], said.outputs);
}

/** A text with the reports in it, each as its choice is called where it is one. */
function fill(text, outputs) {
  const names = (outputs ?? []).map((output, i) => page.outputs[language][i][output]);
  return text.replace("{report}", () => names.join(", "));
}

function say(text, outputs) {
  said = { text, outputs };
  message.classList.toggle("bad", ["failed", "blocked"].includes(text));
  speak();
}

/** Whether the person can still choose; a report that was drawn is not drawn anew. */
function open(isOpen) {
  for (const part of form.querySelectorAll("fieldset")) part.disabled = !isOpen;
}

function finish(text, outputs) {
  form.hidden = true;
  next.hidden = !page.shared;
  say(text, outputs);
  (page.shared ? next : message).focus();
}

/** The value of each column that was chosen, as `Client` takes it. */
function answer() {
  const data = new FormData(form);
  const values = kernels.map((one, i) => one.inputs[Number(data.get(`answer${i}`))]);
  if (kernels.length === 1) return values[0];
  return Object.fromEntries(kernels.map((one, i) => [one.column, values[i]]));
}

/** What is to be sent, with what it is called; kept before anything leaves. */
async function drawn() {
  const before = kept();
  if (before.reports) return before;
  const client = new Client(before.person ? { person: before.person } : {});
  const value = answer();
  const outputs = [await client.output(value)].flat();
  const state = { ...before, outputs, reports: [await client.report(value)].flat() };
  keep(state);
  return state;
}

async function submit(event) {
  event.preventDefault();
  button.disabled = true;
  say("sending");
  try {
    const state = await drawn();
    open(false);
    await send(new URL(page.collector, location.href), state.reports);
    keep({ person: state.person, done: true });
    finish("sent", state.outputs);
  } catch (problem) {
    console.warn(problem);
    if (kept().reports) button.dataset.text = "again";
    say("failed");
  } finally {
    button.disabled = false;
  }
}

/** The next person of a shared device has reports of their own. */
function turn() {
  keep({ person: somebody() });
  form.reset();
  form.hidden = false;
  next.hidden = true;
  button.dataset.text = "send";
  open(true);
  said = null;
  speak();
  form.querySelector("input").focus();
}

function start() {
  const wanted = [new URLSearchParams(location.search).get("lang"), ...navigator.languages];
  const codes = wanted.filter(Boolean).flatMap((one) => [one, one.split("-")[0]]);
  language = codes.find((code) => page.languages.includes(code)) ?? page.languages[0];
  if (chosen) chosen.value = language;
  const before = kept();
  if (before.reports) {
    open(false);
    button.dataset.text = "again";
    say("failed");
  } else if (before.done && !page.shared) {
    finish("answered");
  } else if (page.shared && (before.done || !before.person)) {
    keep({ person: somebody() });
  }
  speak();
  button.disabled = false;
}

chosen?.addEventListener("change", () => {
  language = chosen.value;
  speak();
});
form.addEventListener("submit", submit);
next.addEventListener("click", turn);
try {
  start();
} catch (problem) {
  console.warn(problem);
  form.hidden = true;
  say("blocked");
}
