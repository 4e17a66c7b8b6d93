// The language client, and one entry in the command palette: the effective objects of
// the text at the cursor, or the plan of the work tree.

import * as vscode from 'vscode';
import {LanguageClient, ServerOptions} from 'vscode-languageclient/node';
import {Place, chart, effective, fromQuery, plan, settings, toQuery} from './requests';

const CHART = 'forebay-chart';
const EFFECTIVE = 'forebay-effective';
const PLAN = 'forebay-plan';

let client: LanguageClient | undefined;

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  const configuration = () => vscode.workspace.getConfiguration('forebay');
  const read = (name: string) => configuration().get<boolean>(name, true);
  const command = configuration().get<string>('path', 'forebay');
  const server: ServerOptions = {command, args: ['lsp']};
  const started = new LanguageClient('forebay', 'forebay', server, {
    documentSelector: [{scheme: 'file', language: 'yaml'}, {scheme: 'file', pattern: '**/Kustomization'}],
    initializationOptions: settings(read),
  });
  started.registerFeature({
    fillClientCapabilities: (capabilities) => {
      capabilities.experimental = {
        ...(capabilities.experimental as object),
        forebayChanged: true,
        forebayCharts: true,
      };
    },
    initialize: () => undefined,
    getState: () => ({kind: 'static'}),
    clear: () => undefined,
  });
  client = started;

  // Virtual documents follow edits: the server says when something changed.
  const changed = new vscode.EventEmitter<vscode.Uri>();
  const open = new Set<string>();
  const provider: vscode.TextDocumentContentProvider = {
    onDidChange: changed.event,
    provideTextDocumentContent: (uri) => {
      open.add(uri.toString());
      return effective(started, fromQuery(uri.query));
    },
  };
  started.onNotification('forebay/changed', () => {
    for (const uri of open) {
      changed.fire(vscode.Uri.parse(uri));
    }
  });

  const charts: vscode.TextDocumentContentProvider = {
    provideTextDocumentContent: (uri) => chart(started, uri.toString()),
  };

  const plans: vscode.TextDocumentContentProvider = {
    provideTextDocumentContent: (uri) =>
      plan(command, uri.query, configuration().get<string>('planBase', '')).catch(
        (error: Error) => `forebay plan failed\n\n${error.message}\n`,
      ),
  };

  const showEffective = async (place: Place) => {
    const uri = vscode.Uri.from({scheme: EFFECTIVE, path: '/effective.yaml', query: toQuery(place)});
    const document = await vscode.workspace.openTextDocument(uri);
    await vscode.languages.setTextDocumentLanguage(document, 'yaml');
    await vscode.window.showTextDocument(document, {viewColumn: vscode.ViewColumn.Beside, preserveFocus: true});
  };

  const showPlan = async (folder: vscode.WorkspaceFolder) => {
    // Another address each time: a plan is of one moment.
    const uri = vscode.Uri.from({
      scheme: PLAN,
      path: `/plan-${new Date().toISOString().replace(/[:.]/g, '-')}.md`,
      query: folder.uri.fsPath,
    });
    await vscode.commands.executeCommand('markdown.showPreviewToSide', uri);
  };

  const folderHere = () => {
    const here = vscode.window.activeTextEditor?.document;
    return (here && vscode.workspace.getWorkspaceFolder(here.uri)) ?? vscode.workspace.workspaceFolders?.[0];
  };

  const show = async () => {
    const editor = vscode.window.activeTextEditor;
    const here = editor?.document;
    const folder = folderHere();
    const choices: {label: string; run: () => Promise<void>}[] = [];
    if (editor && here?.uri.scheme === 'file') {
      const {line, character} = editor.selection.active;
      const place = {textDocument: {uri: here.uri.toString()}, position: {line, character}};
      choices.push({label: 'The object at the cursor, as each cluster gets it', run: () => showEffective(place)});
    }
    if (folder) {
      choices.push({label: 'The plan: what the changes of the work tree do', run: () => showPlan(folder)});
    }
    const chosen = await vscode.window.showQuickPick(choices, {placeHolder: 'Show'});
    await chosen?.run();
  };

  context.subscriptions.push(
    changed,
    vscode.workspace.registerTextDocumentContentProvider(EFFECTIVE, provider),
    vscode.workspace.registerTextDocumentContentProvider(CHART, charts),
    vscode.workspace.registerTextDocumentContentProvider(PLAN, plans),
    vscode.workspace.onDidCloseTextDocument((document) => open.delete(document.uri.toString())),
    vscode.commands.registerCommand('forebay.show', show),
    // What the lenses run.
    vscode.commands.registerCommand('forebay.showEffective', showEffective),
    vscode.commands.registerCommand('forebay.showPlan', async () => {
      const folder = folderHere();
      if (folder) {
        await showPlan(folder);
      }
    }),
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (event.affectsConfiguration('forebay')) {
        void started.sendNotification('workspace/didChangeConfiguration', {settings: {forebay: settings(read)}});
      }
    }),
  );
  await started.start();
}

export async function deactivate(): Promise<void> {
  await client?.stop();
}
