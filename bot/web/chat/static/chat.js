"use strict";
// On top of htmx: asking once, waiting patiently, staying where the reader is.
(() => {
  const form = document.getElementById("ask");
  if (!form) return;
  const box = form.querySelector("textarea");
  const messages = document.getElementById("messages");
  const trouble = document.getElementById("trouble");
  const status = document.getElementById("status");
  const count = document.getElementById("count");
  const files = document.getElementById("file");
  const chosen = document.getElementById("files");
  const longest = Number(box.dataset.longest);
  const texts = document.getElementById("texts").dataset;
  const sized = (text, size) => text.replace("{size}", size.toLocaleString(document.documentElement.lang));
  const still = window.matchMedia("(prefers-reduced-motion: reduce)");

  const say = (text) => { if (trouble.textContent !== text) trouble.textContent = text; };
  const show = (element, block) =>
    element.scrollIntoView({ block, behavior: still.matches ? "auto" : "smooth" });

  // Asking. A question has an id of its own: sent twice, it is asked once.
  const newId = () => {
    const bytes = crypto.getRandomValues(new Uint8Array(16));
    return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  };
  const length = (text) => [...text].length;
  let attempt = { key: "", id: "" };

  const wrong = (text) => {
    const large = [...files.files].find((file) => file.size > Number(files.dataset.largest));
    if (files.files.length > Number(files.dataset.most)) return texts.many;
    if (large) return texts.large.replace("{name}", () => large.name);
    if (!text && !files.files.length) return texts.empty;
    const size = length(text);
    if (size <= longest) return "";
    return sized(texts.long, size);
  };
  const fit = () => {
    box.style.height = "auto";
    box.style.height = `${Math.min(box.scrollHeight + 2, 220)}px`;
    const size = length(box.value.trim());
    count.textContent = size > longest * 0.9 ? sized(texts.count, size) : "";
  };

  // Files that go along: named below the box, and removed all at once.
  const key = (text) => JSON.stringify([text, ...[...files.files].map((file) => [file.name, file.size, file.lastModified])]);
  const list = () => {
    chosen.hidden = !files.files.length;
    chosen.firstElementChild.textContent = [...files.files].map((file) => file.name).join(", ");
  };
  const leaveOut = () => {
    files.value = "";
    list();
  };
  files.addEventListener("change", () => {
    list();
    say(files.files.length ? wrong(box.value.trim() || " ") : "");
    box.focus();
  });
  chosen.querySelector("button").addEventListener("click", () => {
    leaveOut();
    say("");
    box.focus();
  });
  list();

  // Signing in again comes back here: what is in the box goes along.
  const KEPT = "question";
  document.body.addEventListener("htmx:beforeOnLoad", (event) => {
    const again = event.detail.xhr.getResponseHeader("HX-Redirect");
    if (again && box.value.trim()) sessionStorage.setItem(KEPT, box.value);
  });
  if (sessionStorage.getItem(KEPT)) {
    box.value = sessionStorage.getItem(KEPT);
    sessionStorage.removeItem(KEPT);
    fit();
  }

  form.noValidate = true;
  form.addEventListener("htmx:configRequest", (event) => {
    if (event.target !== form) return;
    const text = box.value.trim();
    const refused = wrong(text);
    if (refused) {
      event.preventDefault();
      say(refused);
      box.focus();
      return;
    }
    if (attempt.key !== key(text)) attempt = { key: key(text), id: newId() };
    event.detail.parameters.set("question", text);
    event.detail.parameters.set("message", attempt.id);
  });
  form.addEventListener("htmx:afterRequest", (event) => {
    if (event.target !== form || !event.detail.successful) return;
    if (key(box.value.trim()) === attempt.key) {
      box.value = "";
      leaveOut();
    }
    attempt = { key: "", id: "" };
    say("");
    fit();
  });
  box.addEventListener("input", fit);
  box.addEventListener("keydown", (event) => {
    // 229: a word is still being composed, also where isComposing is already false.
    if (event.key !== "Enter" || event.shiftKey || event.isComposing || event.keyCode === 229) return;
    event.preventDefault();
    if (!event.repeat) form.requestSubmit();
  });
  messages.addEventListener("click", (event) => {
    const choice = event.target.closest("[data-ask]");
    if (!choice) return;
    box.value = choice.dataset.ask;
    form.requestSubmit();
    box.focus({ preventScroll: true });
  });

  // Waiting: often at first, then less; not while nobody looks; on and on while the server is away.
  // While live.js is told what happens, this is only for what it might not hear of.
  const FIRST = 250, SLOW = 1000, AWAY = 8000, SURE = 5000;
  const LOST = texts.lost;
  let pause = FIRST, timer = 0;
  const waiting = () => messages.querySelectorAll(".answer.working");
  const live = () => messages.dataset.live === "on";
  const plan = () => {
    clearTimeout(timer);
    if (!document.hidden && waiting().length) timer = setTimeout(look, live() ? SURE : pause);
  };
  const look = () => {
    waiting().forEach((answer) => htmx.trigger(answer, "look"));
    pause = Math.max(pause, Math.min(pause * 1.25, SLOW));
    plan();
  };
  const hurry = () => {
    pause = FIRST;
    plan();
  };
  const lost = () => {
    say(LOST);
    pause = Math.min(Math.max(pause, FIRST) * 2, AWAY);
    plan();
  };
  document.addEventListener("visibilitychange", hurry);
  window.addEventListener("online", hurry);
  messages.addEventListener("chat:live", () => {
    pause = FIRST;
    if (live() && trouble.textContent === LOST) look();
    else plan();
  });

  // Changing the last question: the box takes the focus and Enter sends; Escape leaves it as it was.
  messages.addEventListener("toggle", (event) => {
    if (!event.target.matches("details.edit") || !event.target.open) return;
    const changed = event.target.querySelector("textarea");
    changed.focus();
    changed.setSelectionRange(changed.value.length, changed.value.length);
  }, true);
  messages.addEventListener("keydown", (event) => {
    const changing = event.target.closest(".edit[open]");
    if (!changing) return;
    if (event.key === "Escape") {
      changing.open = false;
      changing.querySelector("form").reset();
      changing.querySelector("summary").focus({ preventScroll: true });
    } else if (event.key === "Enter" && event.target.matches("textarea") && !event.shiftKey && !event.isComposing && event.keyCode !== 229) {
      event.preventDefault();
      if (!event.repeat) event.target.form.requestSubmit();
    }
  });

  // What came back.
  const told = (request) => {
    if (request.status === 401) return texts.out;
    try { return JSON.parse(request.responseText).detail; } catch { return ""; }
  };
  const isWaiting = (element) => element.matches(".answer.working");
  const isLook = (event) => event.target.matches(".case") && event.detail.requestConfig?.verb === "get";
  const unreachable = (event) => {
    if (isLook(event)) return;
    if (isWaiting(event.target)) lost();
    else say(event.target === form ? texts.kept : texts.away);
  };
  document.body.addEventListener("htmx:sendError", unreachable);
  document.body.addEventListener("htmx:timeout", unreachable);
  document.body.addEventListener("htmx:responseError", (event) => {
    const { xhr } = event.detail;
    if (isLook(event)) return;
    if (!isWaiting(event.target)) {
      say(told(xhr) || texts.failed);
    } else if (xhr.status >= 500) {
      lost();
    } else {
      event.target.classList.remove("working");
      event.target.querySelector(".stage").textContent = told(xhr) || texts.gone;
    }
  });
  messages.addEventListener("htmx:afterRequest", (event) => {
    if (!event.detail.successful || !isWaiting(event.detail.requestConfig.elt) || trouble.textContent !== LOST) return;
    say("");
    hurry();
  });
  messages.addEventListener("htmx:beforeSwap", (event) => {
    const found = /id="(x-[^"]+)"/.exec(event.detail.serverResponse);
    const known = event.target === messages && found && document.getElementById(found[1]);
    if (!known) return;
    event.detail.shouldSwap = false;
    show(known, "start");
  });

  // Telling those who listen: the step when it lasts, the answer when it is there.
  let soon = 0;
  const announce = (answer) => {
    clearTimeout(soon);
    if (isWaiting(answer)) {
      soon = setTimeout(() => { status.textContent = answer.querySelector(".stage").textContent; }, 1500);
      return;
    }
    const card = answer.parentElement?.querySelector(".case .state strong");
    const parts = [answer.querySelector(".tag"), answer.querySelector(".text"), card].map((part) => part?.innerText.trim());
    status.textContent = parts.filter(Boolean).join(". ").slice(0, 800);
  };
  messages.addEventListener("chat:stage", (event) => announce(event.target));
  messages.addEventListener("htmx:load", (event) => {
    const element = event.target;
    if (element.matches(".exchange")) {
      document.getElementById("welcome")?.remove();
      announce(element.querySelector(".answer"));
      show(element, "start");
      if (!document.activeElement || document.activeElement === document.body) box.focus({ preventScroll: true });
      hurry();
    } else if (element.matches(".answer")) {
      announce(element);
    }
  });

  // Opening: a mark opens its source, "why" is fetched when it is asked for.
  messages.addEventListener("click", (event) => {
    const mark = event.target.closest("a.mark");
    const source = mark && document.getElementById(mark.hash.slice(1));
    if (!source) return;
    event.preventDefault();
    source.querySelector("details").open = true;
    source.querySelector("summary").focus({ preventScroll: true });
    show(source, "nearest");
  });
  // Copying code. Where the browser allows no clipboard, the code is selected for the keyboard.
  const offerCopy = (element) => {
    for (const button of element.querySelectorAll("button.copy[hidden]")) {
      button.hidden = false;
      button.textContent = texts.copyword;
      button.setAttribute("aria-label", texts.copy);
    }
  };
  const copied = (button, word) => {
    button.textContent = word;
    button.setAttribute("aria-label", word);
    status.textContent = word;
  };
  messages.addEventListener("click", async (event) => {
    const button = event.target.closest("button.copy");
    const code = button?.parentElement.querySelector("code");
    if (!code) return;
    try {
      await navigator.clipboard.writeText(code.textContent);
      copied(button, texts.copied);
    } catch {
      getSelection().selectAllChildren(code);
      copied(button, document.execCommand("copy") ? texts.copied : texts.selected);
    }
  });
  messages.addEventListener("htmx:load", (event) => offerCopy(event.target));
  offerCopy(messages);

  messages.addEventListener("toggle", (event) => {
    if (event.target.matches("details[data-why]") && event.target.open) htmx.trigger(event.target, "open-why");
  }, true);

  const [came] = performance.getEntriesByType("navigation");
  if (came?.type === "navigate") messages.querySelector(".exchange:last-child")?.scrollIntoView();
  if (!navigator.cookieEnabled) say(texts.cookies);
  fit();
  plan();
})();
