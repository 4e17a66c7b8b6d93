//! The effects of a change, as `plan` reports them: every word, its family, how
//! bad it is and what it means. Help, documentation and `--fail-on-effect` are
//! made of this.

use super::named::named;

named! {
    /// A family of effects.
    pub enum Category {
        /// Objects that are added, changed, moved or removed.
        Object = "object",
        /// Suspensions.
        Suspend = "suspend",
        /// Gates, by the gating proposal.
        Gate = "gate",
        /// Notifications.
        Event = "event",
        /// Kustomizations that wait for others.
        Wait = "wait",
        /// Machines of Cluster API.
        Machines = "machines",
        /// Lifecycle hooks of Cluster API.
        Hook = "hook",
    }
}

named! {
    /// How bad an effect is.
    pub enum Severity {
        /// Everyday change.
        Routine = "routine",
        /// Worth a look before approving.
        Notable = "notable",
        /// Something is deleted, replaced, or will fail.
        Disruptive = "disruptive",
    }
}

named! {
    /// What happens to an object. Two kinds are called `unknown`, in different
    /// families: `unseen` objects and Machines.
    pub enum EffectKind {
        /// Applied for the first time.
        Added = "added",
        /// Applied with new values.
        Changed = "changed",
        /// Reconciled at another pace.
        ReconcileOnly = "reconcile-only",
        /// The same object under another name.
        Renamed = "renamed",
        /// Applied by another Kustomization.
        Moved = "moved",
        /// Pods are replaced.
        WorkloadRollout = "workload-rollout",
        /// A HelmRelease is upgraded.
        ReleaseUpgrade = "release-upgrade",
        /// Manifests or charts come from elsewhere.
        SourceChange = "source-change",
        /// The API server, or a webhook, refuses the change.
        Refused = "rejected",
        /// Refused, so that `force` deletes and creates it anew.
        Replaced = "replaced",
        /// A release is uninstalled and another one installed.
        Reinstalled = "reinstalled",
        /// Pruned.
        Deleted = "deleted",
        /// Stays, and nothing looks after it.
        Orphaned = "orphaned",
        /// A Kustomization holds nothing any more, and prunes everything.
        Emptied = "emptied",
        /// flux-operator takes over what bootstrap installed.
        TakenOver = "taken-over",
        /// Values that it substitutes changed, and are not known.
        MayChange = "may-change",
        /// A Kustomization builds that did not.
        BuildsAgain = "builds-again",
        /// A Kustomization can't be built.
        BuildFails = "build-fails",
        /// What a Kustomization applies is out of sight.
        Unseen = "unknown",
        /// Stays because it says so.
        Kept = "kept",
        /// No more reconciliation.
        Suspended = "suspended",
        /// Suspended by an annotation that is ignored.
        AnnotatedOnly = "annotated-only",
        /// Reconciled again.
        Resumed = "resumed",
        /// Reconciled again because the field is gone.
        ResumedByOmission = "resumed-by-omission",
        /// A Gate is asked to open.
        Opened = "opened",
        /// A Gate is asked to close.
        Closed = "closed",
        /// The window of a Gate.
        WindowChanged = "window-changed",
        /// The default of a Gate.
        DefaultChanged = "default-changed",
        /// An object waits for a Gate.
        Gated = "gated",
        /// An object waits for a Gate no more.
        Released = "released",
        /// A key of a notification's metadata is new.
        KeyAdded = "key-added",
        /// A key has another value.
        KeyChanged = "key-changed",
        /// A key is gone.
        KeyRemoved = "key-removed",
        /// Two sources for a key.
        KeyOverridden = "key-overridden",
        /// An alert matches.
        NotificationGained = "notification-gained",
        /// No alert matches.
        NotificationLost = "notification-lost",
        /// Others wait for it.
        Waits = "waits",
        /// Machines are replaced.
        Rollout = "rollout",
        /// A webhook refuses the change.
        Rejected = "rejected",
        /// Machines are added or removed.
        Scale = "scale",
        /// Withheld until something else is over.
        Delayed = "delayed",
        /// An update extension changes existing Machines.
        UpdatedInPlace = "updated-in-place",
        /// The infrastructure provider decides.
        ProviderDefined = "provider-defined",
        /// Not known offline.
        Unknown = "unknown",
        /// Existing Machines get the value; none is replaced.
        PropagatedInPlace = "propagated-in-place",
        /// Only the object changes, and how its controller behaves.
        ObjectOnly = "object-only",
        /// Existing Machines stay as they are, new ones get the value.
        NewMachinesOnly = "new-machines-only",
        /// Lifecycle hooks are called.
        HooksCalled = "hooks-called",
    }
}

impl EffectKind {
    /// Its row of [`MEANINGS`].
    const fn row(self) -> &'static Meaning {
        &MEANINGS[self as usize]
    }

    /// Its family.
    pub const fn category(self) -> Category {
        self.row().1
    }

    /// How bad it is, unless its circumstances are those of [`Self::unless`].
    pub const fn severity(self) -> Severity {
        self.row().2
    }

    /// When it is more or less bad than that; empty for never.
    pub const fn unless(self) -> &'static str {
        self.row().3
    }

    /// What it means, for the table of effects.
    pub const fn meaning(self) -> &'static str {
        self.row().4
    }
}

/// A kind, its family, how bad it is, when it is otherwise (or nothing), and what it means.
type Meaning = (EffectKind, Category, Severity, &'static str, &'static str);

/// All kinds, in their order.
const MEANINGS: [Meaning; EffectKind::ALL.len()] = {
    use Category::{Event, Gate, Hook, Machines, Object, Suspend, Wait};
    use Severity::{Disruptive, Notable, Routine};
    [
        (EffectKind::Added, Object, Routine, "", "applied for the first time"),
        (
            EffectKind::Changed,
            Object,
            Routine,
            "",
            "applied with new values; every field in `details.fields`, but for those that an effect \
                 on `machines` of the same object names",
        ),
        (EffectKind::ReconcileOnly, Object, Routine, "", "interval, timeout or retry of a Flux object"),
        (
            EffectKind::Renamed,
            Object,
            Notable,
            "routine where a generated name got another hash; disruptive where the old one takes data, \
                 an address or Machines along",
            "the old object goes, a new one comes",
        ),
        (
            EffectKind::Moved,
            Object,
            Notable,
            "routine where no order of the controllers deletes it; disruptive where every order does, or \
                 where a new one is not as good as the old",
            "applied by another Kustomization",
        ),
        (EffectKind::WorkloadRollout, Object, Notable, "", "the pod template changed: Pods are replaced"),
        (
            EffectKind::ReleaseUpgrade,
            Object,
            Notable,
            "",
            "chart, version or values of a HelmRelease, those that `valuesFrom` reads included",
        ),
        (
            EffectKind::SourceChange,
            Object,
            Notable,
            "",
            "a source's ref or URL, a Kustomization's path or source",
        ),
        (
            EffectKind::Refused,
            Object,
            Disruptive,
            "",
            "the API server or a webhook refuses the change: nothing else of its Kustomization is applied",
        ),
        (
            EffectKind::Replaced,
            Object,
            Disruptive,
            "",
            "refused by the API server, so `force` deletes it and creates it anew",
        ),
        (
            EffectKind::Reinstalled,
            Object,
            Disruptive,
            "",
            "a HelmRelease becomes another release: the old one is uninstalled, or stays in another cluster",
        ),
        (
            EffectKind::Deleted,
            Object,
            Disruptive,
            "routine for generated names; notable for a Kustomization whose objects all stay",
            "pruned, with all that goes with it",
        ),
        (
            EffectKind::Orphaned,
            Object,
            Notable,
            "disruptive where its Kustomization applies to another cluster from now on",
            "stays in the cluster, nothing looks after it",
        ),
        (
            EffectKind::Emptied,
            Object,
            Disruptive,
            "notable where it does not prune",
            "a Kustomization builds to nothing: all that it applied is pruned",
        ),
        (
            EffectKind::TakenOver,
            Object,
            Disruptive,
            "notable where the FluxInstance was there before",
            "a FluxInstance takes over what `flux bootstrap` installed, if it is ready before the removal",
        ),
        (
            EffectKind::MayChange,
            Object,
            Notable,
            "",
            "a Secret or ConfigMap changed whose values are not known here, and objects substitute from it",
        ),
        (
            EffectKind::BuildsAgain,
            Object,
            Notable,
            "",
            "a Kustomization builds that did not: its objects are one line",
        ),
        (
            EffectKind::BuildFails,
            Object,
            Disruptive,
            "",
            "a Kustomization that built before, or is new, can't be built: nothing of it is applied or pruned",
        ),
        (
            EffectKind::Unseen,
            Object,
            Notable,
            "",
            "what a Kustomization applied before may be in a repository, or a remote base, that is \
                 not here, or is too much to build; or a remote base is of another version",
        ),
        (
            EffectKind::Kept,
            Object,
            Routine,
            "",
            "protected by `prune: disabled`, `reconcile: disabled` or `ssa: Ignore`",
        ),
        (
            EffectKind::Suspended,
            Suspend,
            Notable,
            "disruptive while its objects move elsewhere",
            "no more reconciliation",
        ),
        (
            EffectKind::AnnotatedOnly,
            Suspend,
            Notable,
            "disruptive while its objects move elsewhere",
            "the proposed annotation, which these controllers ignore",
        ),
        (
            EffectKind::Resumed,
            Suspend,
            Notable,
            "",
            "reconciled again, with everything that changed meanwhile",
        ),
        (
            EffectKind::ResumedByOmission,
            Suspend,
            Notable,
            "",
            "`spec.suspend` is gone: resumed only if nobody else suspended it too",
        ),
        (EffectKind::Opened, Gate, Notable, "", "a Gate is asked to open"),
        (EffectKind::Closed, Gate, Notable, "", "a Gate is asked to close"),
        (EffectKind::WindowChanged, Gate, Notable, "", "how long a request at a Gate holds"),
        (EffectKind::DefaultChanged, Gate, Notable, "", "what a Gate is without a request"),
        (EffectKind::Gated, Gate, Notable, "", "an object waits for a Gate from now on"),
        (EffectKind::Released, Gate, Notable, "", "an object waits for a Gate no more"),
        (EffectKind::KeyAdded, Event, Routine, "", "a key of a notification's metadata is new"),
        (EffectKind::KeyChanged, Event, Routine, "", "a key of a notification's metadata has another value"),
        (EffectKind::KeyRemoved, Event, Routine, "", "a key of a notification's metadata is gone"),
        (
            EffectKind::KeyOverridden,
            Event,
            Routine,
            "",
            "two sources set a key of a notification's metadata: a conflict is logged",
        ),
        (EffectKind::NotificationGained, Event, Routine, "", "an alert matches the object now"),
        (EffectKind::NotificationLost, Event, Notable, "", "an alert matches it no more"),
        (EffectKind::Waits, Wait, Routine, "", "Kustomizations that depend on a changed one"),
        (EffectKind::Rollout, Machines, Disruptive, "", "Cluster API: Machines are replaced"),
        (EffectKind::Rejected, Machines, Disruptive, "", "a webhook refuses the change"),
        (
            EffectKind::Scale,
            Machines,
            Notable,
            "disruptive where all Machines of an entry are deleted",
            "Machines are added or removed",
        ),
        (
            EffectKind::Delayed,
            Machines,
            Notable,
            "",
            "what happens, `details.then`, is withheld until something else is over",
        ),
        (EffectKind::UpdatedInPlace, Machines, Notable, "", "an update extension changes existing Machines"),
        (
            EffectKind::ProviderDefined,
            Machines,
            Notable,
            "",
            "the infrastructure provider, or an extension that patches, decides whether Machines are replaced",
        ),
        (EffectKind::Unknown, Machines, Notable, "", "what happens to Machines is not known offline"),
        (
            EffectKind::PropagatedInPlace,
            Machines,
            Routine,
            "",
            "existing Machines get the value; none is replaced",
        ),
        (
            EffectKind::ObjectOnly,
            Machines,
            Routine,
            "",
            "only the object changes, and how its controller behaves",
        ),
        (
            EffectKind::NewMachinesOnly,
            Machines,
            Routine,
            "",
            "existing Machines stay as they are, new ones get the value",
        ),
        (EffectKind::HooksCalled, Hook, Notable, "", "lifecycle hooks that the change calls"),
    ]
};

/// A kind finds its row by its number.
const _: () = {
    let mut at = 0;
    while at < MEANINGS.len() {
        assert!(MEANINGS[at].0 as usize == at, "a row stands at another place than its kind");
        at += 1;
    }
};

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_word_means_one_thing_in_a_family() {
        let words: BTreeSet<_> = EffectKind::ALL.iter().map(|kind| (kind.category(), kind.name())).collect();
        assert_eq!(words.len(), EffectKind::ALL.len());
        let severities: Vec<&str> = Severity::ALL.iter().map(|severity| severity.name()).collect();
        assert_eq!(severities, ["routine", "notable", "disruptive"]);
        assert!(EffectKind::ALL.iter().all(|kind| !severities.contains(&kind.name())));
    }
}
