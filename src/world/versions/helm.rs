//! The Helm that helm-controller embeds.
//! Source: go.mod of each tag of helm-controller; helm/helm `pkg/chart/common/util`;
//! fluxcd/flux2 `manifests/bases/helm-controller` of each tag.

use super::Settings;
use crate::build::helm::{Helm, HelmLine, Nulls};
use crate::model::Version;

/// The patch of helm-controller 1.5 in each patch of Flux 2.8. Minors before and after embed
/// one Helm each.
const PATCHES: [u32; 9] = [0, 1, 2, 3, 3, 3, 4, 4, 5];

impl Settings {
    /// The Helm of the helm-controller: by the version of its image, else of the stated
    /// Flux, of its newest patch where none is said; where nothing is stated the newest.
    pub(crate) fn helm(&self) -> Helm {
        let helm = |line, nulls| Helm { line, nulls };
        let controller = self.helm_controller.or_else(|| shipped(self.flux.value?));
        match (controller, self.flux.value) {
            (Some((0, ..) | (1, 0..=4, _)), _) => helm(HelmLine::V3_17, Nulls::Original),
            (Some((1, 5, 0..=1)), _) => helm(HelmLine::V4_1, Nulls::Deleting),
            (Some((1, 5, 2..=4)), _) => helm(HelmLine::V4_1, Nulls::Keeping),
            (None, Some(flux)) if flux.major < 2 || (flux.major == 2 && flux.minor < 8) => {
                helm(HelmLine::V3_17, Nulls::Original)
            }
            _ => helm(HelmLine::V4_2, Nulls::Cleaning),
        }
    }
}

/// The helm-controller of a patch of Flux that decides on its Helm.
fn shipped(flux: Version) -> Option<(u32, u32, u32)> {
    let patch = flux.patch.filter(|_| (flux.major, flux.minor) == (2, 8))?;
    Some((1, 5, *PATCHES.get(patch as usize)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::versions::Setting;

    #[test]
    fn a_patch_of_flux_decides_on_its_helm() {
        for (flux, line, nulls) in [
            ("2.7.5", HelmLine::V3_17, Nulls::Original),
            ("2.8.0", HelmLine::V4_1, Nulls::Deleting),
            ("2.8.6", HelmLine::V4_1, Nulls::Keeping),
            ("2.8.8", HelmLine::V4_2, Nulls::Cleaning),
            ("2.8.12", HelmLine::V4_2, Nulls::Cleaning),
            ("2.8", HelmLine::V4_2, Nulls::Cleaning),
            ("2.9.0", HelmLine::V4_2, Nulls::Cleaning),
        ] {
            let version = Version::parse(flux);
            let settings = Settings { flux: Setting { value: version, from: None }, ..Settings::default() };
            assert_eq!(settings.helm(), Helm { line, nulls }, "{flux}");
        }
    }
}
