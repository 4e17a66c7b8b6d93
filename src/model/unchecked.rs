//! Why something was not judged: the reasons of the JSON contract, what they are in
//! words, and what would let each go away.

use super::named::named;
use crate::lang::text::counted;

named! {
    /// A reason of *not checked*, in the order in which they are listed.
    pub enum Unchecked {
        /// Something that is missing in a cluster that nothing states.
        AbsenceInGuessedCluster = "absence-in-guessed-cluster",
        /// A file that would bring what is read above its limit.
        BeyondTotalOfInput = "beyond-total-of-input",
        /// A Kustomization whose build fails before a change and after it.
        BuildFailsOnBothSides = "build-fails-on-both-sides",
        /// A change in a file that only builds read of which a part is not known.
        ChangedFileInPartialBuild = "changed-file-in-partial-build",
        /// A change in a file that nothing reads which was followed.
        ChangedFileOutsideClusters = "changed-file-outside-clusters",
        /// A chart that a HelmRelease means and that is neither here nor in a store.
        Chart = "chart",
        /// A chart whose templates are too much to follow: nobody knows which values they can read.
        ChartValues = "chart-values",
        /// A ClusterClass that a topology names and that is not in the repository.
        ClassNotHere = "class-not-here",
        /// A reference to a Cluster API object that may be made elsewhere.
        ClusterApiReference = "cluster-api-reference",
        /// The hash in the name of a generated object, over values that are not known.
        ContentHash = "content-hash",
        /// A command of a CronJob that may suspend or resume.
        CronJobCommand = "cronjob-command",
        /// A Kustomization whose source is not this repository.
        ExternalSource = "external-source",
        /// A finding in a file that a program made.
        GeneratedFile = "generated-file",
        /// A resource that is made where the repository is used, and not committed.
        GeneratedResource = "generated-resource",
        /// A file that git-crypt holds locked.
        GitCrypt = "git-crypt",
        /// A file of which only the Git LFS pointer is here.
        GitLfs = "git-lfs",
        /// A chart that kustomize would render.
        HelmChart = "helm-chart",
        /// A kind that no schema describes.
        KindWithoutSchema = "kind-without-schema",
        /// Fields of Kubernetes' kinds under another version than the one that is stated.
        KubernetesFields = "kubernetes-fields",
        /// A plugin of kustomize that is not built in.
        KustomizePlugin = "kustomize-plugin",
        /// A file whose content a partial clone left out.
        MissingGitObject = "missing-git-object",
        /// An object of Flux that no cluster applies.
        OrphanObject = "orphan-object",
        /// A file tree beside the root's, which is the same on both sides of a plan.
        OtherTree = "other-tree",
        /// Something that a build left out.
        PartialBuild = "partial-build",
        /// A file whose name is not UTF-8.
        PathNotUtf8 = "path-not-utf8",
        /// A value with a variable that nothing here substitutes.
        Placeholder = "placeholder",
        /// A reference to what a chart may make.
        ReferenceIntoChart = "reference-into-chart",
        /// A reference to what a build that is not known whole may have.
        ReferenceIntoPartialBuild = "reference-into-partial-build",
        /// A reference to what a ResourceSet may make.
        ReferenceIntoResourceSet = "reference-into-resource-set",
        /// A reference to a ConfigMap or Secret that may be made in the cluster.
        ReferenceToConfig = "reference-to-config",
        /// A reference to what another source may have.
        ReferenceToExternalSource = "reference-to-external-source",
        /// A reference to what a controller may make.
        ReferenceToGeneratedObject = "reference-to-generated-object",
        /// A reference to what another entry point may apply.
        ReferenceToOtherRoot = "reference-to-other-root",
        /// A reference to an object that no Kustomization applies.
        ReferenceToUnappliedObject = "reference-to-unapplied-object",
        /// A reference in a tree whose entry point is not known.
        ReferenceWithoutEntryPoint = "reference-without-entry-point",
        /// A base on another host.
        RemoteBase = "remote-base",
        /// A file of a generator on another host.
        RemoteFile = "remote-file",
        /// A ResourceSet whose inputs are not known.
        ResourceSet = "resource-set",
        /// The source that most Kustomizations name, and that is not here.
        SourceOfMost = "source-of-most",
        /// A file that is a device, a pipe or a socket.
        SpecialFile = "special-file",
        /// A submodule of git.
        Submodule = "submodule",
        /// A symbolic link.
        Symlink = "symlink",
        /// A file of a template language.
        Template = "template",
        /// A template that a ClusterClass names and that is not in the repository.
        TemplateNotHere = "template-not-here",
        /// A file of a test suite of another tool.
        TestSuite = "test-suite",
        /// A Kustomization beyond the number that are followed.
        TooManyKustomizations = "too-many-kustomizations",
        /// A field with an unknown part, on which it depends what is applied.
        UnknownField = "unknown-field",
        /// An object whose kind has an unknown part.
        UnknownKind = "unknown-kind",
        /// A Gate whose users may be elsewhere.
        UnseenGateUsers = "unseen-gate-users",
        /// A reference to what is not in the repository.
        UnseenReference = "unseen-reference",
        /// A rule of a schema that is not evaluated here.
        ValidationRule = "validation-rule",
    }
}

const SOURCES: &str = "say in .forebay.yaml where its files are: \
                       `sources: [{kind: …, name: …, namespace: …, dir: DIR}]`";
const CLUSTERS: &str =
    "say in .forebay.yaml what Flux applies first: `clusters: [{name: NAME, path: DIRECTORY}]`";
const BUILD: &str = "`forebay build --kustomization NAMESPACE/NAME` says what the build left out";
const INTO_GIT: &str = "write the object into this repository; what makes it elsewhere is not seen";
const CHARTS: &str = "commit what `kustomize build --enable-helm` makes; Flux's kustomize renders no charts";
const PULL: &str =
    "`forebay chart pull` fetches charts with your helm; `--charts DIR` names a directory that has them";
const INPUTS: &str = "write its inputs into `spec.inputs`; those of a provider are not known";
const ELSEWHERE: &str = "write the object into this repository, or name under `sources` in .forebay.yaml \
                         the directory (`dir`) that has it";

impl Unchecked {
    /// So many of them in words: `3 references to config`.
    pub fn counted(self, count: usize) -> String {
        let (thing, rest) = self.words();
        counted(count, thing) + rest
    }

    /// Several of them in words: `references to config`.
    pub fn plural(self) -> String {
        self.counted(0).split_off("0 ".len())
    }

    /// One in words, divided behind what is counted.
    fn words(self) -> (&'static str, &'static str) {
        match self {
            Unchecked::AbsenceInGuessedCluster => ("absence", " in guessed cluster"),
            Unchecked::BeyondTotalOfInput => ("file beyond the total", " of input"),
            Unchecked::BuildFailsOnBothSides => ("Kustomization", " unbuildable on both sides"),
            Unchecked::ChangedFileInPartialBuild => ("changed file", " in partial build"),
            Unchecked::ChangedFileOutsideClusters => ("changed file", " outside clusters"),
            Unchecked::Chart => ("chart", ""),
            Unchecked::ChartValues => ("release", " with a chart not followed"),
            Unchecked::ClassNotHere => ("class", " not here"),
            Unchecked::ClusterApiReference => ("reference", " to Cluster API objects"),
            Unchecked::ContentHash => ("content hash", ""),
            Unchecked::CronJobCommand => ("command", " of a CronJob"),
            Unchecked::ExternalSource => ("external source", ""),
            Unchecked::GeneratedFile => ("generated file", ""),
            Unchecked::GeneratedResource => ("generated resource", ""),
            Unchecked::GitCrypt => ("git-crypt file", ""),
            Unchecked::GitLfs => ("Git LFS pointer", ""),
            Unchecked::HelmChart => ("chart", " of a kustomization.yaml"),
            Unchecked::KindWithoutSchema => ("kind", " without schema"),
            Unchecked::KubernetesFields => ("version", " of Kubernetes whose fields are not compared"),
            Unchecked::KustomizePlugin => ("kustomize plugin", ""),
            Unchecked::MissingGitObject => ("missing Git object", ""),
            Unchecked::OrphanObject => ("orphan object", ""),
            Unchecked::OtherTree => ("other file tree", ""),
            Unchecked::PartialBuild => ("partial build", ""),
            Unchecked::PathNotUtf8 => ("path", " outside UTF-8"),
            Unchecked::Placeholder => ("placeholder", ""),
            Unchecked::ReferenceIntoChart => ("reference", " into charts"),
            Unchecked::ReferenceIntoPartialBuild => ("reference", " into partial build"),
            Unchecked::ReferenceIntoResourceSet => ("reference", " into resource set"),
            Unchecked::ReferenceToConfig => ("reference", " to config"),
            Unchecked::ReferenceToExternalSource => ("reference", " to external source"),
            Unchecked::ReferenceToGeneratedObject => ("reference", " to generated object"),
            Unchecked::ReferenceToOtherRoot => ("reference", " to other root"),
            Unchecked::ReferenceToUnappliedObject => ("reference", " to unapplied object"),
            Unchecked::ReferenceWithoutEntryPoint => ("reference", " outside clusters"),
            Unchecked::RemoteBase => ("remote resource", " (URL in kustomization.yaml)"),
            Unchecked::RemoteFile => ("remote file", " of generators (URL in kustomization.yaml)"),
            Unchecked::ResourceSet => ("resource set", ""),
            Unchecked::SourceOfMost => ("source", " of most Kustomizations"),
            Unchecked::SpecialFile => ("special file", ""),
            Unchecked::Submodule => ("submodule", ""),
            Unchecked::Symlink => ("symlink", ""),
            Unchecked::Template => ("template", ""),
            Unchecked::TemplateNotHere => ("template", " not here"),
            Unchecked::TestSuite => ("file", " of test suites"),
            Unchecked::TooManyKustomizations => ("too many kustomizations", ""),
            Unchecked::UnknownField => ("unknown field", ""),
            Unchecked::UnknownKind => ("unknown kind", ""),
            Unchecked::UnseenGateUsers => ("unseen gate user", ""),
            Unchecked::UnseenReference => ("unseen reference", ""),
            Unchecked::ValidationRule => ("validation rule", ""),
        }
    }

    /// The command that lets most of them go away at once, where there is one.
    pub(crate) fn step(self) -> Option<&'static str> {
        match self {
            Unchecked::Chart => Some("`forebay chart pull`"),
            Unchecked::GitCrypt => Some("`git-crypt unlock`"),
            Unchecked::GitLfs => Some("`git lfs pull`"),
            Unchecked::MissingGitObject => Some("`git fetch --refetch`"),
            _ => None,
        }
    }

    /// What would let it go away: an option, a line of the configuration, or a change
    /// of the repository.
    pub fn remedy(self) -> &'static str {
        REMEDIES[self as usize].1
    }
}

/// What would let each go away, in their order.
const REMEDIES: [(Unchecked, &str); Unchecked::ALL.len()] = [
    (Unchecked::AbsenceInGuessedCluster, CLUSTERS),
    (Unchecked::BeyondTotalOfInput, "work on a part of the repository: `--root DIRECTORY`"),
    (
        Unchecked::BuildFailsOnBothSides,
        "mend what `forebay lint` says of it: what a change does is told once it builds",
    ),
    (Unchecked::ChangedFileInPartialBuild, BUILD),
    (Unchecked::ChangedFileOutsideClusters, CLUSTERS),
    (Unchecked::Chart, PULL),
    (
        Unchecked::ChartValues,
        "compare what `forebay chart template` prints with a value and without it: the templates of \
         these charts are too much to follow",
    ),
    (Unchecked::ClassNotHere, ELSEWHERE),
    (Unchecked::ClusterApiReference, ELSEWHERE),
    (Unchecked::ContentHash, "give the generator `options: {disableNameSuffixHash: true}`"),
    (Unchecked::CronJobCommand, "write the command as one `flux suspend`, `flux resume` or `kubectl patch`"),
    (Unchecked::ExternalSource, SOURCES),
    (Unchecked::GeneratedFile, "mend what makes the file; findings inside of it are not shown"),
    (
        Unchecked::GeneratedResource,
        "commit the file that is made, or `exclude` its directory in .forebay.yaml",
    ),
    (Unchecked::GitCrypt, "unlock the repository: `git-crypt unlock`"),
    (Unchecked::GitLfs, "fetch the content: `git lfs pull`"),
    (Unchecked::HelmChart, CHARTS),
    (
        Unchecked::KindWithoutSchema,
        "name a directory of CRDs, or a catalogue, in .forebay.yaml: `schemas: [DIRECTORY]`",
    ),
    (
        Unchecked::KubernetesFields,
        "only API versions that are gone are told; which fields its kinds have at each version is \
                 not known here: read its release notes",
    ),
    (Unchecked::KustomizePlugin, "commit what the plugin makes; plugins are not run here"),
    (Unchecked::MissingGitObject, "fetch what the clone left out: `git fetch --refetch`"),
    (
        Unchecked::OrphanObject,
        "let a Kustomization of a cluster apply it, or name its cluster under `clusters` \
                            in .forebay.yaml",
    ),
    (Unchecked::OtherTree, "plan its changes in its own repository; here it is the same on both sides"),
    (Unchecked::PartialBuild, BUILD),
    (Unchecked::PathNotUtf8, "give the file a name in UTF-8"),
    (
        Unchecked::Placeholder,
        "let a cluster substitute it, or name the variables under `injectedVariables` in \
                          .forebay.yaml",
    ),
    (Unchecked::ReferenceIntoChart, PULL),
    (Unchecked::ReferenceIntoPartialBuild, BUILD),
    (Unchecked::ReferenceIntoResourceSet, INPUTS),
    (
        Unchecked::ReferenceToConfig,
        "commit the ConfigMap or Secret; one that is made in the cluster is not seen",
    ),
    (Unchecked::ReferenceToExternalSource, SOURCES),
    (Unchecked::ReferenceToGeneratedObject, INTO_GIT),
    (Unchecked::ReferenceToOtherRoot, CLUSTERS),
    (Unchecked::ReferenceToUnappliedObject, "let a Kustomization of the cluster apply the file"),
    (Unchecked::ReferenceWithoutEntryPoint, CLUSTERS),
    (Unchecked::RemoteBase, "commit a copy of what the URL gives; no network is used here"),
    (Unchecked::RemoteFile, "commit a copy of what the URL gives; no network is used here"),
    (Unchecked::ResourceSet, INPUTS),
    (
        Unchecked::SourceOfMost,
        "write that source into this repository, or say under `sources` in .forebay.yaml what it holds",
    ),
    (Unchecked::SpecialFile, "put a plain file in its place"),
    (Unchecked::Submodule, "lint the submodule by itself: `--root DIRECTORY`"),
    (Unchecked::Symlink, "put a plain file in its place: artifacts of Flux hold no links"),
    (Unchecked::Template, "lint what the template makes, such as the output of `helm template`"),
    (Unchecked::TemplateNotHere, ELSEWHERE),
    (
        Unchecked::TestSuite,
        "nothing: patterns of chainsaw, kuttl or gator and data of Go tests are no objects",
    ),
    (
        Unchecked::TooManyKustomizations,
        "look at fewer at a time: `--root`, or fewer `clusters` in .forebay.yaml",
    ),
    (
        Unchecked::UnknownField,
        "state the variables: `substitute`, or a ConfigMap in this repository that `substituteFrom` names",
    ),
    (
        Unchecked::UnknownKind,
        "state the variables: `substitute`, or a ConfigMap in this repository that `substituteFrom` names",
    ),
    (Unchecked::UnseenGateUsers, INTO_GIT),
    (Unchecked::UnseenReference, INTO_GIT),
    (Unchecked::ValidationRule, "ask the API server: `kubectl apply --dry-run=server`"),
];

/// A reason finds its row by its number.
const _: () = {
    let mut at = 0;
    while at < REMEDIES.len() {
        assert!(REMEDIES[at].0 as usize == at, "a row stands at another place than its reason");
        at += 1;
    }
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_in_order_and_in_words() {
        assert!(Unchecked::ALL.is_sorted_by_key(|reason| reason.name()));
        for (count, reason, expected) in [
            (1, Unchecked::HelmChart, "1 chart of a kustomization.yaml"),
            (2, Unchecked::ReferenceToConfig, "2 references to config"),
            (2, Unchecked::ReferenceWithoutEntryPoint, "2 references outside clusters"),
            (2, Unchecked::PathNotUtf8, "2 paths outside UTF-8"),
            (3, Unchecked::Template, "3 templates"),
            (2, Unchecked::TemplateNotHere, "2 templates not here"),
            (4, Unchecked::ClassNotHere, "4 classes not here"),
            (2, Unchecked::ContentHash, "2 content hashes"),
            (2, Unchecked::UnseenGateUsers, "2 unseen gate users"),
            (2, Unchecked::ChangedFileInPartialBuild, "2 changed files in partial build"),
            (2, Unchecked::ResourceSet, "2 resource sets"),
            (2, Unchecked::RemoteBase, "2 remote resources (URL in kustomization.yaml)"),
        ] {
            assert_eq!(reason.counted(count), expected);
        }
        assert_eq!(Unchecked::KindWithoutSchema.plural(), "kinds without schema");
    }
}
