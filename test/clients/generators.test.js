// Generators of clients understand docs/openapi.json as it is, and what they make works.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

import { build } from "esbuild";

import { apiKey, Server } from "../../clients/typescript/test/server.js";

const here = fileURLToPath(new URL(".", import.meta.url));
const description = fileURLToPath(new URL("../../docs/openapi.json", import.meta.url));
let server, env;

before(async () => {
  server = await Server.start();
  env = { ...process.env, SPOOL: server.url, KEY: apiKey, CLIP: await server.clip() };
});
after(() => server.stop());

async function run(program, args, cwd = here) {
  return (await promisify(execFile)(program, args, { cwd, env, maxBuffer: 1 << 24 })).stdout;
}

/** runs a flow, which prints the statuses of the video and of its resolution. */
async function flow(name) {
  const outfile = `${here}gen/${name}.mjs`;
  await build({ entryPoints: [`${here}${name}.ts`], outfile, bundle: true, format: "esm", platform: "node", logLevel: "error" });
  return run("node", [outfile]);
}

const ready = "ready ready number\n";

test("openapi-typescript, hey-api and our own client", async () => {
  await run("node_modules/.bin/openapi-typescript", [description, "-o", "gen/schema.ts"]);
  await run("node_modules/.bin/openapi-ts", ["-i", description, "-o", "gen/hey", "-p", "@hey-api/client-fetch", "@hey-api/typescript", "@hey-api/sdk"]);
  await run("node_modules/.bin/tsc", ["-p", "."]);
  assert.equal(await flow("flow-openapi-typescript"), ready);
  assert.equal(await flow("flow-hey-api"), ready);
  assert.equal(await flow("flow-spool-client"), ready);
});

test("oapi-codegen", async () => {
  await run("go", ["generate", "."], `${here}oapi`);
  await run("go", ["vet", "."], `${here}oapi`);
  assert.equal(await run("go", ["run", "."], `${here}oapi`), ready);
});
