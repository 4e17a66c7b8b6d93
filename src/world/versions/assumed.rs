//! A rehearsal: a version that nothing states takes the place of the one that is stated.

use super::{Setting, Settings};
use crate::config::Assumed;

impl Settings {
    /// Take what is assumed for what is stated. Flags that the repository writes stay,
    /// and the defaults come after: they are those of the assumed version.
    pub(super) fn assume(&mut self, assumed: &Assumed) {
        let set = |value| Setting { value: Some(value), from: None };
        if let Some(version) = assumed.flux {
            self.flux = set(version);
            self.flux_between = (None, None);
            // The image says what runs now.
            self.helm_controller = None;
            self.unsupported.retain(|(text, _)| !text.starts_with("Flux "));
        }
        if let Some(version) = assumed.cluster_api {
            self.cluster_api = set(version);
            self.unsupported.retain(|(text, _)| !text.starts_with("Cluster API "));
        }
        if let Some(version) = assumed.kubernetes {
            self.kubernetes = set(version);
        }
        for (feature, on) in &assumed.features {
            self.set(*feature, *on, None);
        }
        self.assumed.clone_from(assumed);
    }
}
