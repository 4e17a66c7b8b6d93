//! What the person at the editor chose: the `initializationOptions`, and later the
//! section `forebay` of the editor's settings. What the repository chose is in
//! `.forebay.yaml`.

use serde::Deserialize;

/// All settings; each has a default.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct EditorSettings {
    /// Who asks for diagnostics.
    pub(super) diagnostics: Delivery,
    /// What stands beside the text.
    pub(super) inlay_hints: InlayHints,
    /// What stands above an object.
    pub(super) code_lens: CodeLens,
    /// Whether the editor works actions out when they are chosen; its capability, no
    /// setting.
    #[serde(skip)]
    pub(super) resolves: bool,
    /// Whether the editor opens files of packed charts by their address; its capability,
    /// no setting.
    #[serde(skip)]
    pub(super) shows_charts: bool,
}

/// How diagnostics reach the editor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Delivery {
    /// Sent for the whole repository whenever something changes.
    #[default]
    Push,
    /// Asked for, file by file or for the workspace.
    Pull,
}

/// What inlay hints show.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct InlayHints {
    /// The namespace that an object ends up in, where its text says another one.
    pub(super) namespace: bool,
    /// What a variable becomes.
    pub(super) variables: bool,
    /// In how many clusters an object is.
    pub(super) clusters: bool,
}

impl Default for InlayHints {
    fn default() -> Self {
        InlayHints { namespace: true, variables: true, clusters: true }
    }
}

/// What code lenses show.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct CodeLens {
    /// Who applies an object.
    #[serde(rename = "appliedBy")]
    pub(super) appliers: bool,
    /// Which alerts tell of it.
    pub(super) alerts: bool,
    /// What the saved state does to it, compared with the base of plans.
    pub(super) plan: bool,
}

impl Default for CodeLens {
    fn default() -> Self {
        CodeLens { appliers: true, alerts: true, plan: true }
    }
}

impl EditorSettings {
    /// Read them; what is not understood is left at its default, and said.
    pub(super) fn read(value: serde_json::Value) -> (EditorSettings, Option<String>) {
        if value.is_null() {
            return (EditorSettings::default(), None);
        }
        match serde_json::from_value(value) {
            Ok(settings) => (settings, None),
            Err(error) => {
                (EditorSettings::default(), Some(format!("the settings of forebay can't be read: {error}")))
            }
        }
    }
}
