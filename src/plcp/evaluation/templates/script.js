"use strict";

// Without this script the page says the same; it adds tooltips, arrow keys, sorting and a filter.
{
  const tip = document.getElementById("tip");

  let current = null;

  const show = (mark) => {
    current = mark;
    tip.textContent = mark.getAttribute("aria-label");
    tip.hidden = false;
    const place = (mark.querySelector(".reach") || mark).getBoundingClientRect();
    const size = tip.getBoundingClientRect();
    const left = place.left + place.width / 2 - size.width / 2;
    const right = document.documentElement.clientWidth - size.width - 8;
    const above = place.top - size.height - 8;
    tip.style.left = `${Math.max(8, Math.min(left, right))}px`;
    tip.style.top = `${above < 8 ? place.bottom + 8 : above}px`;
  };

  const hide = () => {
    current = null;
    tip.hidden = true;
  };

  const walk = (event) => {
    const marks = [...event.currentTarget.querySelectorAll(".mark")].filter(
      (mark) => mark.getClientRects().length // not those of rows that the filter hides
    );
    const steps = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };
    const now = marks.indexOf(event.target.closest(".mark"));
    let next;
    if (event.key in steps) next = marks[now + steps[event.key]];
    else if (event.key === "Home") next = marks[0];
    else if (event.key === "End") next = marks[marks.length - 1];
    else if (event.key === "Escape") hide();
    if (!next) return;
    event.preventDefault();
    marks[now].setAttribute("tabindex", "-1");
    next.setAttribute("tabindex", "0");
    next.focus();
  };

  for (const chart of document.querySelectorAll(".chart")) {
    const marks = [...chart.querySelectorAll(".mark")];
    marks.forEach((mark, i) => {
      mark.querySelector("title").remove(); // else two tooltips
      mark.setAttribute("tabindex", i ? "-1" : "0"); // one stop a chart, the rest by arrow keys
      mark.addEventListener("pointerenter", () => show(mark));
      mark.addEventListener("pointerleave", hide);
      mark.addEventListener("focus", () => show(mark));
      mark.addEventListener("blur", hide);
    });
    chart.addEventListener("keydown", walk);
  }
  addEventListener("scroll", () => current && show(current), { passive: true });

  const table = document.getElementById("all-groups");
  const body = table && table.tBodies[0];

  const number = (text) => Number(text.replace("inf", "Infinity"));

  const compare = (kind, a, b) =>
    kind === "number" ? number(a) - number(b) : a.localeCompare(b, undefined, { numeric: true });

  const sort = (head) => {
    const way = head.getAttribute("aria-sort") === "ascending" ? "descending" : "ascending";
    const value = (row) => row.cells[head.cellIndex].dataset.sort;
    const sign = way === "ascending" ? 1 : -1;
    const rows = [...body.rows].sort((a, b) => {
      const [x, y] = [value(a), value(b)];
      if (x === "" || y === "") return (x === "") - (y === ""); // what is missing stays last
      return x === y ? 0 : sign * compare(head.dataset.kind, x, y);
    });
    for (const other of table.tHead.querySelectorAll("[data-kind]")) other.setAttribute("aria-sort", "none");
    head.setAttribute("aria-sort", way);
    body.append(...rows);
  };

  const filter = (input, shown) => () => {
    const wanted = input.value.trim().toLowerCase();
    let n = 0;
    for (const row of body.rows) {
      row.hidden = !row.textContent.toLowerCase().includes(wanted);
      n += !row.hidden;
    }
    shown.textContent = `${n} of ${body.rows.length} shown`;
  };

  if (table) {
    for (const head of table.tHead.querySelectorAll("[data-kind]")) {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      button.addEventListener("click", () => sort(head));
      head.append(button);
    }
    const input = document.getElementById("filter");
    const update = filter(input, document.getElementById("shown"));
    input.addEventListener("input", update);
    input.closest(".filter").hidden = false;
    update();
  }
}
