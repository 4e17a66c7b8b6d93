// What the extension asks of the server and of the command line, without the editor:
// the test speaks with the real binary through the same functions.

import {execFile} from 'node:child_process';

/** The parameters of `forebay/effective`. */
export interface Place {
  textDocument: {uri: string};
  position: {line: number; character: number};
  cluster?: string;
  origins?: boolean;
}

/** Its answer; null where the place is no part of an object. */
export interface Effective {
  text: string;
  clusters: string[];
}

/** Whatever sends requests: the language client, or a bare connection. */
export interface Server {
  sendRequest(method: string, parameters: unknown): Promise<unknown>;
}

/** The objects that Flux makes of the text at a place, as YAML. */
export async function effective(server: Server, place: Place): Promise<string> {
  const answer = (await server.sendRequest('forebay/effective', place)) as Effective | null;
  return answer?.text ?? '# forebay: this is no part of an object that a cluster applies\n';
}

/** A file of a packed chart, by its address. */
export async function chart(server: Server, uri: string): Promise<string> {
  const answer = (await server.sendRequest('forebay/chart', {uri})) as {text: string} | null;
  return answer?.text ?? '# forebay: this chart is not here any more\n';
}

/** The settings that the server reads, from those of the editor. */
export function settings(read: (name: string) => boolean): object {
  return {
    inlayHints: {
      namespace: read('inlayHints.namespace'),
      variables: read('inlayHints.variables'),
      clusters: read('inlayHints.clusters'),
    },
    codeLens: {
      appliedBy: read('codeLens.appliedBy'),
      alerts: read('codeLens.alerts'),
      plan: read('codeLens.plan'),
    },
  };
}

/** A place as the query of a virtual document's address, and back. */
export function toQuery(place: Place): string {
  return JSON.stringify([place.textDocument.uri, place.position.line, place.position.character]);
}

export function fromQuery(query: string): Place {
  const [uri, line, character] = JSON.parse(query) as [string, number, number];
  return {textDocument: {uri}, position: {line, character}};
}

/** What the work tree changes against a revision, in Markdown. */
export function plan(binary: string, root: string, base: string): Promise<string> {
  const revision = base === '' ? [] : ['--base', base];
  return new Promise((resolve, reject) => {
    execFile(
      binary,
      ['plan', '--format', 'markdown', ...revision],
      {cwd: root, maxBuffer: 64 << 20},
      (error, output, complaint) => {
        if (error !== null && output === '') {
          reject(new Error(complaint.trim() || error.message));
        } else {
          resolve(output);
        }
      },
    );
  });
}
