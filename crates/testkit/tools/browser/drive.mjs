// Opens the page in a real browser, types, resizes, reloads, and prints what was seen.
//   node drive.mjs '{"api":…,"token":…,"path":…,"port":…,"pictures":…}'
import { createServer } from "node:http";
import { readFile } from "node:fs/promises";
import { randomUUID } from "node:crypto";
import { chromium } from "playwright-core";

const wanted = JSON.parse(process.argv[2]);
const here = new URL(".", import.meta.url);
const FILES = {
  "/": ["page.html", "text/html"],
  "/page.mjs": ["page.mjs", "text/javascript"],
  "/xterm.mjs": ["node_modules/@xterm/xterm/lib/xterm.mjs", "text/javascript"],
  "/xterm.css": ["node_modules/@xterm/xterm/css/xterm.css", "text/css"],
};

// The page has no token: this asks for tickets, as a console's server would.
async function ticket(resume) {
  const answer = await fetch(wanted.api + wanted.path, {
    method: "POST",
    headers: {
      authorization: `Bearer ${wanted.token}`,
      "content-type": "application/json",
      "idempotency-key": randomUUID(),
    },
    body: JSON.stringify({ kind: "terminal", ...(resume ? { resume } : {}) }),
  });
  if (!answer.ok) throw new Error(`no ticket: ${await answer.text()}`);
  return answer.text();
}

const server = createServer(async (request, response) => {
  const url = new URL(request.url, "http://page");
  try {
    if (url.pathname === "/ticket") {
      response.setHeader("content-type", "application/json");
      response.end(await ticket(url.searchParams.get("resume")));
      return;
    }
    const [name, type] = FILES[url.pathname] ?? [];
    if (!name) return response.writeHead(404).end();
    response.setHeader("content-type", type);
    response.end(await readFile(new URL(name, here)));
  } catch (error) {
    response.writeHead(500).end(String(error));
  }
});
await new Promise((done) => server.listen(wanted.port, "127.0.0.1", done));

const browser = await chromium.launch({
  executablePath: wanted.browser,
  args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync"],
});
const page = await browser.newPage({ viewport: { width: 900, height: 500 } });
const problems = [];
page.on("pageerror", (error) => problems.push(String(error)));
const patience = { timeout: 20_000 };

const shows = (text) => page.waitForFunction((it) => window.screenText?.().includes(it), text, patience);
const opened = () => page.waitForFunction(() => window.state?.opened, null, patience);
async function type(line) {
  await page.keyboard.type(line);
  await page.keyboard.press("Enter");
}
const found = async (pattern) => (await page.evaluate(() => window.screenText())).match(pattern)?.[1];

try {
  await page.goto(`http://127.0.0.1:${wanted.port}/`);
  await opened();
  await page.locator(".xterm-helper-textarea").focus();
  await type("id; echo pid=$$.");
  await shows("uid=");
  await page.waitForFunction(() => /pid=\d+\./.test(window.screenText()), null, patience);
  const seen = { id: await found(/(uid=.*)/), pid: await found(/pid=(\d+)\./) };
  await page.screenshot({ path: `${wanted.pictures}/typed.png` });

  await page.setViewportSize({ width: 1300, height: 800 });
  await type("stty size");
  const size = await page.evaluate(() => window.size());
  await shows(size);
  seen.size = size;

  await page.reload();
  await opened();
  const again = await page.evaluate(() => window.state.opened);
  await shows("uid=");
  await page.locator(".xterm-helper-textarea").focus();
  await type("echo again=$$.");
  await page.waitForFunction(() => /again=\d+\./.test(window.screenText()), null, patience);
  seen.again = await found(/again=(\d+)\./);
  seen.resumed = again.resumed;
  await page.screenshot({ path: `${wanted.pictures}/reloaded.png` });

  await type("exit 7");
  await page.waitForFunction(() => window.state.exit, null, patience);
  seen.exit = await page.evaluate(() => window.state.exit.code);
  seen.problems = problems;
  console.log(JSON.stringify(seen));
} catch (error) {
  const state = await page.evaluate(() => ({ state: window.state, screen: window.screenText?.() })).catch(() => null);
  console.error(String(error), JSON.stringify({ state, problems }));
  await page.screenshot({ path: `${wanted.pictures}/failed.png` }).catch(() => {});
  process.exitCode = 1;
} finally {
  await browser.close();
  server.close();
}
