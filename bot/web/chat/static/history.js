"use strict";
// On top of the links beside the chat: the list keeps up, can be folded away, and asks before it deletes.
(() => {
  const list = document.getElementById("conversations");
  const messages = document.getElementById("messages");
  const pane = document.getElementById("history");
  if (!list || !messages || !pane) return;
  const year = 365 * 24 * 3600;
  const keep = (name, value) => {
    document.cookie = `${name}=${value}; path=/; max-age=${year}; samesite=strict`;
  };

  // Days are the reader's own.
  const east = String(-new Date().getTimezoneOffset());
  keep("frontdesk_east", east);
  const renew = () => htmx.trigger(list, "changed");
  if ((list.dataset.east || "0") !== east) renew();
  messages.addEventListener("htmx:load", (event) => {
    if (event.target.matches(".exchange")) renew();
  });

  // Folding, where there is room for both.
  const fold = document.querySelector(".fold");
  fold.hidden = false;
  fold.addEventListener("click", () => {
    const folded = pane.classList.toggle("folded");
    fold.setAttribute("aria-expanded", String(!folded));
    keep("frontdesk_folded", folded ? "yes" : "no");
  });

  // Deleting.
  const dialog = document.getElementById("delete");
  list.addEventListener("click", (event) => {
    const link = event.target.closest("[data-delete]");
    if (!link || !dialog.showModal) return;
    event.preventDefault();
    dialog.querySelector("form").action = link.href;
    dialog.showModal();
  });
})();
