//! `forebay lsp`: the language server. One file per request: its parameters to a
//! library call to its answer.
//!
//! One loop takes message after message; what changed is built and linted when no
//! message waits, so that fast typing is one run. The texts that are open lie over
//! the tree in memory; nothing is ever written: changes of files are handed to the
//! editor.

mod actions;
mod charts;
mod class;
mod completion;
mod diagnostics;
mod effective;
mod hints;
mod hover;
mod links;
mod place;
mod planned;
mod position;
mod rename;
mod settings;
mod sink;
mod state;
mod symbols;
mod values;

use crate::config::{self, Config, Level};
use jiff::Timestamp;
use lsp_server::{Connection, ErrorCode, Message, Notification, Request, Response};
use lsp_types::notification::{self as notifications, Notification as _};
use lsp_types::request::{self as requests, Request as _};
use lsp_types::{
    CodeActionKind, CodeActionOptions, CodeActionOrCommand, CodeActionProviderCapability, CodeLensOptions,
    CompletionOptions, CompletionResponse, Diagnostic, DiagnosticOptions, DiagnosticServerCapabilities,
    DocumentSymbolResponse, GotoDefinitionResponse, HoverProviderCapability, InitializeParams, MessageType,
    OneOf, PublishDiagnosticsParams, RenameOptions, SaveOptions, ServerCapabilities,
    TextDocumentSyncCapability, TextDocumentSyncKind, TextDocumentSyncOptions, TextDocumentSyncSaveOptions,
    WorkDoneProgressOptions, WorkspaceSymbolResponse,
};
use place::Spot;
pub(crate) use planned::ReadBase;
use position::Encoding;
use serde_json::{Value, json};
use settings::{Delivery, EditorSettings};
use state::ServerState;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

/// What the command line knows and the server asks for.
pub(crate) struct Host<'h> {
    /// The root of the repository of a folder; an error in words.
    pub root: &'h dyn Fn(&Path) -> Result<PathBuf, String>,
    /// The configuration of a root.
    pub config: &'h dyn Fn(&Path) -> Result<Config, config::Error>,
    /// The time that time-dependent rules judge, where they run.
    pub at: &'h dyn Fn(&Config) -> Option<Timestamp>,
    /// The time of day, for next times.
    pub now: &'h dyn Fn() -> Timestamp,
    /// The lowest level that is reported.
    pub show: Level,
    /// What plans compare with.
    pub base: ReadBase,
}

/// Why the server ended without being asked to.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ServerFailure {
    /// The folder of the editor can't be worked on.
    #[error("{0}")]
    Root(String),
    /// The client does not speak the protocol.
    #[error("{0}")]
    Protocol(String),
    /// The client went away.
    #[error("the editor went away")]
    Gone,
}

/// Serve a client until it ends the session.
///
/// # Errors
/// No folder to work on, a client that does not speak the protocol, or that went away.
pub(crate) fn serve(connection: &Connection, host: &Host<'_>) -> Result<(), ServerFailure> {
    let protocol = |error: lsp_server::ProtocolError| match error.channel_is_disconnected() {
        true => ServerFailure::Gone,
        false => ServerFailure::Protocol(error.to_string()),
    };
    let (id, parameters) = connection.initialize_start().map_err(protocol)?;
    let parameters: InitializeParams =
        serde_json::from_value(parameters).map_err(|error| ServerFailure::Protocol(error.to_string()))?;
    let general = parameters.capabilities.general.as_ref();
    let encoding = Encoding::negotiate(general.and_then(|general| general.position_encodings.as_deref()));
    let (mut settings, complaint) =
        EditorSettings::read(parameters.initialization_options.clone().unwrap_or_default());
    settings.resolves = resolves_actions(&parameters);
    let experimental = parameters.capabilities.experimental.as_ref();
    settings.shows_charts =
        experimental.and_then(|value| value.get("forebayCharts")) == Some(&Value::Bool(true));
    let folder = folder(&parameters);
    let mut state = match ServerState::open(host, &folder, encoding, settings) {
        Ok(state) => state,
        Err(failure) => {
            let code = ErrorCode::RequestFailed as i32;
            let _ = connection.sender.send(Response::new_err(id, code, failure.to_string()).into());
            return Err(failure);
        }
    };
    let answer = json!({
        "capabilities": capabilities(&state),
        "serverInfo": {"name": "forebay", "version": env!("CARGO_PKG_VERSION")},
    });
    connection.initialize_finish(id, answer).map_err(protocol)?;
    let mut session = Session {
        connection,
        published: BTreeMap::new(),
        client: Client::of(&parameters),
        asked: 0,
        told: false,
    };
    if let Some(complaint) = complaint {
        session.log(MessageType::WARNING, complaint)?;
    }
    session.watch()?;
    session.run(&mut state)
}

/// What of the client's capabilities makes a difference.
struct Client {
    /// Whether it takes registrations of watched files.
    watches: bool,
    /// Whether it asks again for diagnostics when told to.
    refreshes_diagnostics: bool,
    /// Whether it asks again for lenses when told to.
    refreshes_lenses: bool,
    /// Whether it wants to know when effective objects may have changed.
    follows: bool,
}

impl Client {
    fn of(parameters: &InitializeParams) -> Client {
        let workspace = parameters.capabilities.workspace.as_ref();
        let watched = workspace.and_then(|workspace| workspace.did_change_watched_files.as_ref());
        let diagnostics = workspace.and_then(|workspace| workspace.diagnostic.as_ref());
        let lenses = workspace.and_then(|workspace| workspace.code_lens.as_ref());
        let experimental = parameters.capabilities.experimental.as_ref();
        Client {
            watches: watched.and_then(|watched| watched.dynamic_registration).unwrap_or(false),
            refreshes_diagnostics: diagnostics.and_then(|one| one.refresh_support).unwrap_or(false),
            refreshes_lenses: lenses.and_then(|one| one.refresh_support).unwrap_or(false),
            follows: experimental.and_then(|value| value.get("forebayChanged")) == Some(&Value::Bool(true)),
        }
    }
}

/// Whether the editor asks again for what an action does, once it is chosen.
fn resolves_actions(parameters: &InitializeParams) -> bool {
    let document = parameters.capabilities.text_document.as_ref();
    let support = document.and_then(|document| document.code_action.as_ref()?.resolve_support.as_ref());
    support.is_some_and(|support| support.properties.iter().any(|property| property == "edit"))
}

/// The folder that the editor has open; the working directory without one.
#[expect(deprecated, reason = "older clients say it so")]
fn folder(parameters: &InitializeParams) -> PathBuf {
    let folders = parameters.workspace_folders.iter().flatten().map(|folder| &folder.uri);
    let mut uris = folders.chain(&parameters.root_uri);
    let path = uris.find_map(position::path_of);
    path.or_else(|| parameters.root_path.clone().map(PathBuf::from)).unwrap_or_else(|| PathBuf::from("."))
}

fn capabilities(state: &ServerState<'_>) -> ServerCapabilities {
    let pull = DiagnosticServerCapabilities::Options(DiagnosticOptions {
        identifier: Some("forebay".to_owned()),
        inter_file_dependencies: true,
        workspace_diagnostics: true,
        ..DiagnosticOptions::default()
    });
    ServerCapabilities {
        position_encoding: Some(state.encoding.kind()),
        text_document_sync: Some(TextDocumentSyncCapability::Options(TextDocumentSyncOptions {
            open_close: Some(true),
            change: Some(TextDocumentSyncKind::INCREMENTAL),
            save: Some(TextDocumentSyncSaveOptions::SaveOptions(SaveOptions { include_text: Some(false) })),
            ..TextDocumentSyncOptions::default()
        })),
        // Both ways at once would show each finding twice.
        hover_provider: Some(HoverProviderCapability::Simple(true)),
        definition_provider: Some(OneOf::Left(true)),
        references_provider: Some(OneOf::Left(true)),
        document_symbol_provider: Some(OneOf::Left(true)),
        rename_provider: Some(OneOf::Right(RenameOptions {
            prepare_provider: Some(true),
            work_done_progress_options: WorkDoneProgressOptions::default(),
        })),
        workspace_symbol_provider: Some(OneOf::Left(true)),
        completion_provider: Some(CompletionOptions {
            trigger_characters: Some(["{", "/", ":", " ", "-"].map(str::to_owned).to_vec()),
            ..CompletionOptions::default()
        }),
        code_action_provider: Some(CodeActionProviderCapability::Options(CodeActionOptions {
            code_action_kinds: Some(vec![CodeActionKind::QUICKFIX, CodeActionKind::REFACTOR_REWRITE]),
            resolve_provider: Some(true),
            ..CodeActionOptions::default()
        })),
        inlay_hint_provider: Some(OneOf::Left(true)),
        code_lens_provider: Some(CodeLensOptions { resolve_provider: Some(true) }),
        experimental: Some(json!({"forebayEffective": true})),
        diagnostic_provider: (state.settings.diagnostics == Delivery::Pull).then_some(pull),
        ..ServerCapabilities::default()
    }
}

struct Session<'c> {
    connection: &'c Connection,
    /// What the editor was told.
    published: BTreeMap<String, Vec<Diagnostic>>,
    client: Client,
    /// Requests to the editor so far.
    asked: i32,
    /// Whether the editor knows what came of its last word.
    told: bool,
}

impl Session<'_> {
    fn run(&mut self, state: &mut ServerState<'_>) -> Result<(), ServerFailure> {
        loop {
            let waiting = match self.told {
                false => self.connection.receiver.try_recv().ok(),
                true => Some(self.connection.receiver.recv().map_err(|_| ServerFailure::Gone)?),
            };
            match waiting {
                Some(Message::Request(request)) => {
                    // A client that went away after it asked for the end has got it.
                    if self.connection.handle_shutdown(&request).unwrap_or(true) {
                        return Ok(());
                    }
                    self.answer(state, request)?;
                }
                Some(Message::Notification(notification)) => {
                    self.told = false;
                    self.note(state, notification)?;
                }
                Some(Message::Response(_)) => {}
                None => {
                    self.told = true;
                    self.publish(state)?;
                }
            }
        }
    }

    fn send(&self, message: impl Into<Message>) -> Result<(), ServerFailure> {
        self.connection.sender.send(message.into()).map_err(|_| ServerFailure::Gone)
    }

    fn notify<N: notifications::Notification>(&self, parameters: N::Params) -> Result<(), ServerFailure> {
        self.send(Notification::new(N::METHOD.to_owned(), parameters))
    }

    fn ask<R: requests::Request>(&mut self, parameters: R::Params) -> Result<(), ServerFailure> {
        self.asked += 1;
        self.send(Request::new(format!("forebay-{}", self.asked).into(), R::METHOD.to_owned(), parameters))
    }

    fn log(&self, kind: MessageType, message: String) -> Result<(), ServerFailure> {
        self.notify::<notifications::LogMessage>(lsp_types::LogMessageParams { typ: kind, message })
    }

    /// Ask to be told of changes on disk.
    fn watch(&mut self) -> Result<(), ServerFailure> {
        if !self.client.watches {
            return Ok(());
        }
        let options = json!({"watchers": [{"globPattern": "**/*"}]});
        self.ask::<requests::RegisterCapability>(lsp_types::RegistrationParams {
            registrations: vec![lsp_types::Registration {
                id: "forebay-files".to_owned(),
                method: notifications::DidChangeWatchedFiles::METHOD.to_owned(),
                register_options: Some(options),
            }],
        })
    }

    /// Answer a request. A fault of ours costs the answer, not the session.
    fn answer(&mut self, state: &mut ServerState<'_>, request: Request) -> Result<(), ServerFailure> {
        let id = request.id.clone();
        if request.method == requests::CodeLensResolve::METHOD {
            let sender = self.connection.sender.clone();
            // Whoever went away wants no answer.
            let send = Box::new(move |message| drop(sender.send(message)));
            let resolved = catch_unwind(AssertUnwindSafe(|| hints::resolve(state, send, request)));
            return match resolved {
                Ok(None) => Ok(()),
                Ok(Some(response)) => self.send(response),
                Err(_) => self.send(failed(id)),
            };
        }
        let mut response =
            catch_unwind(AssertUnwindSafe(|| respond(state, request))).unwrap_or_else(|_| failed(id));
        let secrets = state.secrets();
        match &mut response.response_result {
            Ok(result) => sink::inert(result, &secrets),
            Err(error) => error.message = sink::text(&error.message, &secrets),
        }
        self.send(response)
    }

    fn note(&mut self, state: &mut ServerState<'_>, notification: Notification) -> Result<(), ServerFailure> {
        /// The parameters, of a notification that has them as it should.
        fn read<N: notifications::Notification>(notification: Notification) -> Option<N::Params> {
            serde_json::from_value(notification.params).ok()
        }
        match &*notification.method {
            notifications::DidOpenTextDocument::METHOD => {
                if let Some(opened) = read::<notifications::DidOpenTextDocument>(notification) {
                    let document = opened.text_document;
                    state.open_document(document.uri, document.version, document.text);
                }
            }
            notifications::DidChangeTextDocument::METHOD => {
                if let Some(changed) = read::<notifications::DidChangeTextDocument>(notification) {
                    let document = changed.text_document;
                    state.change_document(&document.uri, document.version, changed.content_changes);
                }
            }
            notifications::DidCloseTextDocument::METHOD => {
                if let Some(closed) = read::<notifications::DidCloseTextDocument>(notification) {
                    state.close_document(&closed.text_document.uri);
                }
            }
            notifications::DidSaveTextDocument::METHOD | notifications::DidChangeWatchedFiles::METHOD => {
                if let Err(message) = state.reload() {
                    self.log(MessageType::ERROR, message)?;
                } else if self.client.refreshes_lenses && state.settings.code_lens.plan {
                    self.ask::<requests::CodeLensRefresh>(())?;
                }
            }
            notifications::DidChangeConfiguration::METHOD => {
                if let Some(changed) = read::<notifications::DidChangeConfiguration>(notification) {
                    let own = changed.settings.get("forebay").cloned();
                    let (settings, complaint) = EditorSettings::read(own.unwrap_or_default());
                    // How diagnostics are delivered was agreed at the start.
                    let EditorSettings { diagnostics, resolves, shows_charts, .. } = state.settings;
                    state.settings = EditorSettings { diagnostics, resolves, shows_charts, ..settings };
                    if let Some(complaint) = complaint {
                        self.log(MessageType::WARNING, complaint)?;
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Tell the editor what is wrong now, file by file where that changed.
    fn publish(&mut self, state: &mut ServerState<'_>) -> Result<(), ServerFailure> {
        let worked = catch_unwind(AssertUnwindSafe(|| {
            state.refresh();
            diagnostics::all(state)
        }));
        let Ok(all) = worked else {
            return self.log(MessageType::ERROR, "forebay failed on this state of the repository".to_owned());
        };
        if state.settings.diagnostics == Delivery::Push {
            let secrets = state.secrets();
            let gone = self.published.keys().filter(|path| !all.contains_key(*path));
            let gone: Vec<(&String, Vec<Diagnostic>)> = gone.map(|path| (path, Vec::new())).collect();
            let changed = all.iter().filter(|(path, now)| self.published.get(*path) != Some(*now));
            let changed = changed.map(|(path, now)| (path, now.clone()));
            for (path, diagnostics) in gone.into_iter().chain(changed) {
                let Some(uri) = state.uri(path) else { continue };
                let version = state.document(path).map(|document| document.version);
                let parameters = PublishDiagnosticsParams { uri, diagnostics, version };
                let mut parameters = serde_json::to_value(parameters).unwrap_or_default();
                sink::inert(&mut parameters, &secrets);
                let method = notifications::PublishDiagnostics::METHOD.to_owned();
                self.send(Notification::new(method, parameters))?;
            }
        } else if self.client.refreshes_diagnostics && self.published != all {
            self.ask::<requests::WorkspaceDiagnosticRefresh>(())?;
        }
        self.published = all;
        if self.client.follows {
            self.send(Notification::new("forebay/changed".to_owned(), json!({})))?;
        }
        Ok(())
    }
}

/// The answer to what we failed on.
fn failed(id: lsp_server::RequestId) -> Response {
    let message = "forebay failed on this; the message on its standard error is a bug report";
    Response::new_err(id, ErrorCode::InternalError as i32, message.to_owned())
}

/// The answer to a request.
fn respond(state: &mut ServerState<'_>, request: Request) -> Response {
    match &*request.method {
        requests::DocumentDiagnosticRequest::METHOD => {
            with::<requests::DocumentDiagnosticRequest>(request, |parameters| {
                state.refresh();
                diagnostics::of_document(state, &parameters)
            })
        }
        requests::WorkspaceDiagnosticRequest::METHOD => {
            with::<requests::WorkspaceDiagnosticRequest>(request, |parameters| {
                state.refresh();
                diagnostics::of_workspace(state, &parameters)
            })
        }
        requests::HoverRequest::METHOD => with::<requests::HoverRequest>(request, |parameters| {
            state.refresh_view();
            let spot = Spot::of(state, &parameters.text_document_position_params)?;
            hover::hover(state, &spot)
        }),
        requests::GotoDefinition::METHOD => with::<requests::GotoDefinition>(request, |parameters| {
            state.refresh_view();
            let spot = Spot::of(state, &parameters.text_document_position_params)?;
            let found = links::definition(state, &spot);
            let found = found.iter().filter_map(|place| charts::shown(state, place)).collect();
            Some(GotoDefinitionResponse::Array(found))
        }),
        requests::References::METHOD => with::<requests::References>(request, |parameters| {
            state.refresh_view();
            let spot = Spot::of(state, &parameters.text_document_position)?;
            let found = links::references_to(state, &spot, parameters.context.include_declaration);
            Some(found.iter().filter_map(|place| charts::shown(state, place)).collect())
        }),
        requests::PrepareRenameRequest::METHOD => {
            or_why::<requests::PrepareRenameRequest, _>(request, |parameters| {
                state.refresh_view();
                rename::prepare(state, &parameters)
            })
        }
        requests::Rename::METHOD => or_why::<requests::Rename, _>(request, |parameters| {
            state.refresh_view();
            rename::rename(state, &parameters)
        }),
        requests::DocumentSymbolRequest::METHOD => {
            with::<requests::DocumentSymbolRequest>(request, |parameters| {
                state.refresh_view();
                let path = state.path(&parameters.text_document.uri)?;
                Some(DocumentSymbolResponse::Nested(symbols::of_document(state, &path)))
            })
        }
        requests::WorkspaceSymbolRequest::METHOD => {
            with::<requests::WorkspaceSymbolRequest>(request, |parameters| {
                state.refresh_view();
                Some(WorkspaceSymbolResponse::Flat(symbols::of_workspace(state, &parameters.query)))
            })
        }
        _ => of_writing(state, request),
    }
}

/// The answer to what an editor asks while somebody writes, and about forebay's own views.
fn of_writing(state: &mut ServerState<'_>, request: Request) -> Response {
    match &*request.method {
        requests::Completion::METHOD => with::<requests::Completion>(request, |parameters| {
            state.refresh_view();
            completion::complete(state, &parameters.text_document_position).map(CompletionResponse::List)
        }),
        requests::CodeActionRequest::METHOD => with::<requests::CodeActionRequest>(request, |parameters| {
            state.refresh();
            let found = actions::actions(state, &parameters, state.settings.resolves);
            Some(found.into_iter().map(CodeActionOrCommand::CodeAction).collect())
        }),
        requests::CodeActionResolveRequest::METHOD => {
            with::<requests::CodeActionResolveRequest>(request, |action| {
                state.refresh_view();
                actions::resolve(state, action)
            })
        }
        requests::InlayHintRequest::METHOD => with::<requests::InlayHintRequest>(request, |parameters| {
            state.refresh_view();
            let path = state.path(&parameters.text_document.uri)?;
            Some(hints::inlay(state, &path, parameters.range))
        }),
        requests::CodeLensRequest::METHOD => with::<requests::CodeLensRequest>(request, |parameters| {
            state.refresh_view();
            let path = state.path(&parameters.text_document.uri)?;
            Some(hints::lenses(state, &path))
        }),
        EffectiveObject::METHOD => with::<EffectiveObject>(request, |parameters| {
            state.refresh_view();
            effective::effective(state, &parameters)
        }),
        ChartFile::METHOD => with::<ChartFile>(request, |parameters| charts::text(state, &parameters)),
        _ => {
            let message = format!("forebay does not answer {}", request.method);
            Response::new_err(request.id, ErrorCode::MethodNotFound as i32, message)
        }
    }
}

/// `forebay/chart`: a file of a packed chart.
enum ChartFile {}

impl requests::Request for ChartFile {
    type Params = charts::Parameters;
    type Result = Option<charts::ChartAnswer>;
    const METHOD: &'static str = "forebay/chart";
}

/// `forebay/effective`: the objects that Flux makes of the text at a place.
enum EffectiveObject {}

impl requests::Request for EffectiveObject {
    type Params = effective::Parameters;
    type Result = Option<effective::EffectiveAnswer>;
    const METHOD: &'static str = "forebay/effective";
}

/// Read the parameters, answer, or say why there is no answer: editors show it.
fn or_why<R: requests::Request, A: serde::Serialize>(
    request: Request,
    answer: impl FnOnce(R::Params) -> Result<A, String>,
) -> Response {
    match serde_json::from_value(request.params) {
        Ok(parameters) => match answer(parameters) {
            Ok(answer) => Response::new_ok(request.id, answer),
            Err(why) => Response::new_err(request.id, ErrorCode::RequestFailed as i32, why),
        },
        Err(error) => Response::new_err(request.id, ErrorCode::InvalidParams as i32, error.to_string()),
    }
}

/// Read the parameters, answer.
fn with<R: requests::Request>(request: Request, answer: impl FnOnce(R::Params) -> R::Result) -> Response {
    match serde_json::from_value(request.params) {
        Ok(parameters) => Response::new_ok(request.id, answer(parameters)),
        Err(error) => Response::new_err(request.id, ErrorCode::InvalidParams as i32, error.to_string()),
    }
}
