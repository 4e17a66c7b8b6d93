// The extension's own requests, against the real server: FOREBAY names the binary.

import assert from 'node:assert/strict';
import {spawn} from 'node:child_process';
import {cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import test, {type TestContext} from 'node:test';
import {pathToFileURL} from 'node:url';
import {StreamMessageReader, StreamMessageWriter, createMessageConnection} from 'vscode-jsonrpc/node';
import {effective, fromQuery, plan, settings, toQuery} from '../requests';

const binary = process.env.FOREBAY ?? 'forebay';
const fixture = join(__dirname, '../../../../fixtures/editor');

function repository(context: TestContext): string {
  const root = mkdtempSync(join(tmpdir(), 'forebay-vscode-'));
  context.after(() => rmSync(root, {recursive: true}));
  cpSync(fixture, root, {recursive: true});
  return root;
}

test('the effective view is what the server makes of the text, and follows it', async (context) => {
  const root = repository(context);
  const child = spawn(binary, ['lsp'], {cwd: root, stdio: ['pipe', 'pipe', 'inherit']});
  const server = createMessageConnection(new StreamMessageReader(child.stdout), new StreamMessageWriter(child.stdin));
  server.listen();
  const capabilities = {experimental: {forebayChanged: true}};
  const initializationOptions = settings(() => true);
  const rootUri = pathToFileURL(root).toString();
  const answer = (await server.sendRequest('initialize', {processId: null, rootUri, capabilities, initializationOptions})) as {
    capabilities: {experimental: {forebayEffective: boolean}};
  };
  assert.equal(answer.capabilities.experimental.forebayEffective, true);
  await server.sendNotification('initialized', {});
  const uri = pathToFileURL(join(root, 'apps/base/release.yaml')).toString();
  const place = {textDocument: {uri}, position: {line: 3, character: 10}};
  assert.deepEqual(fromQuery(toQuery(place)), place);
  const before = await effective(server, place);
  assert.match(before, /^# HelmRelease shop\/shop in cluster prod$/m);
  assert.match(before, /host: shop\.staging\.example\.com/);
  const patch = join(root, 'apps/prod/replicas.yaml');
  const text = readFileSync(patch, 'utf8').replace('replicas: 3', 'replicas: 7');
  const textDocument = {uri: pathToFileURL(patch).toString(), languageId: 'yaml', version: 1, text};
  await server.sendNotification('textDocument/didOpen', {textDocument});
  assert.match(await effective(server, place), /replicas: 7/);
  const nothing = {...place, textDocument: {uri: 'file:///elsewhere.yaml'}};
  assert.match(await effective(server, nothing), /^# forebay: this is no part/);
  await server.sendRequest('shutdown');
  await server.sendNotification('exit');
  assert.equal(await new Promise((resolve) => child.on('exit', resolve)), 0);
});

test('the plan is told, and a failure says why', async (context) => {
  const root = repository(context);
  await assert.rejects(plan(binary, root, 'no-such-revision'), /no-such-revision|git/);
  writeFileSync(join(root, 'apps/prod/replicas.yaml'), '{}\n');
  const told = await plan(binary, root, `./${'.'}`);
  assert.match(told, /no effect|nothing changes|No effects|0 effects/i);
});
