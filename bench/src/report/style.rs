//! The style of the HTML page, for wide and narrow screens, and for light and dark colour schemes.

/// The style sheet of an SVG file.
pub(super) const SVG: &str = "
    svg { --line: #d5dae3; --c0: #0072b2; --c1: #d55e00; color: #1f2328; fill: currentColor; font: 13px system-ui, sans-serif; }
    @media (prefers-color-scheme: dark) { svg { --line: #3a4250; --c0: #56b4e9; color: #e6edf3; } }
    .grid { stroke: var(--line); }
    .title { font-size: 15px; font-weight: 600; }
";

/// The script of the page: a click on a heading sorts its table by that column, numbers by their value.
pub(super) const SCRIPT: &str = "
    for (const heading of document.querySelectorAll('th')) heading.onclick = () => {
        const table = heading.closest('table'), body = table.tBodies[0], column = heading.cellIndex;
        const up = heading.getAttribute('aria-sort') !== 'ascending';
        const key = row => row.cells[column].dataset.value ?? row.cells[column].textContent;
        const compare = (a, b) => isNaN(a) || isNaN(b) ? String(a).localeCompare(b) : a - b;
        const rows = [...body.rows].sort((a, b) => compare(key(a), key(b)) * (up ? 1 : -1));
        for (const other of table.querySelectorAll('th')) other.removeAttribute('aria-sort');
        heading.setAttribute('aria-sort', up ? 'ascending' : 'descending');
        body.append(...rows);
    };
";

/// The style sheet of the page.
pub(super) const STYLE: &str = "
    :root { color-scheme: light dark; --line: #d5dae3; --soft: #5a6475; --c0: #0072b2; --c1: #d55e00; --c2: #009e73;
        --c3: #cc79a7; --c4: #56b4e9; --c5: #e69f00; --c6: #7a7a7a; }
    @media (prefers-color-scheme: dark) { :root { --line: #3a4250; --soft: #a3adbd; --c0: #56b4e9; --c4: #0072b2; } }
    body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 76rem; padding: 0 1rem; }
    h1, h2 { line-height: 1.2; }
    h2 { margin-top: 2.5rem; border-top: 1px solid var(--line); padding-top: 1.5rem; }
    .source { color: var(--soft); }
    .figures { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(26rem, 100%), 1fr)); gap: 1rem; }
    figure { margin: 0; }
    svg { width: 100%; height: auto; font: 13px system-ui, sans-serif; fill: currentColor; }
    svg.narrow { display: none; }
    svg.narrow .title { font-size: 12px; }
    @media (max-width: 45rem) { svg.wide { display: none; } svg.narrow { display: inline; } }
    svg .grid { stroke: var(--line); }
    svg .title { font-size: 15px; font-weight: 600; }
    svg .line { fill: none; stroke-width: 2; }
    svg .floor { stroke-dasharray: 7 4; stroke-width: 1.5; }
    svg .peer { stroke-dasharray: 2 3; stroke-width: 1.5; }
    summary { cursor: pointer; font-weight: 600; }
    table { border-collapse: collapse; font-size: 12px; }
    th { cursor: pointer; text-align: left; vertical-align: bottom; }
    th, td { padding: 0.15rem 0.6rem; border-bottom: 1px solid var(--line); }
    td.number { text-align: right; white-space: nowrap; }
    pre { font-size: 12px; line-height: 1.2; }
    .table, pre { overflow-x: auto; }
";
