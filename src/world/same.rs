//! Whether something is what it was in another world of the repository. Worlds that
//! are made of one another share what was built of the same texts ([`World::like`]),
//! so that objects are compared by the identity of their nodes.

use super::{Applied, Cluster, Member, ResourceSet, World};

impl World {
    /// Whether a cluster is what its twin is in another world: the same objects, of the
    /// same texts, applied by the same Kustomizations with the same outcome, under the
    /// same settings; and the same may exist unseen. Whoever reads these alone can't
    /// tell the two apart; the files of their trees are not compared.
    pub fn has_same_cluster(&self, cluster: &Cluster, other: &World, twin: &Cluster) -> bool {
        // Every field, so that a new one is thought of.
        let Cluster {
            name,
            root,
            certainty,
            form,
            location,
            bootstrapped,
            tree,
            source,
            settings,
            injected,
            members,
            applied,
            openers,
            sets,
            releases,
            written,
            generated,
            index: _,
            applied_index: _,
        } = cluster;
        let same_member = |(one, two): (&Member, &Member)| {
            let (object, before) = (self.object(one.object), other.object(two.object));
            object.node.address() == before.node.address()
                && one.maker == two.maker
                && one.target == two.target
                && object.problems == before.problems
                && object.files == before.files
        };
        let same_set = |(one, two): (&ResourceSet, &ResourceSet)| one.id == two.id && one.maker == two.maker;
        let same_applied = |(one, two): (&Applied, &Applied)| {
            is_same_applied(one, two)
                && one.parent == two.parent
                && one.maker == two.maker
                && one.files_read == two.files_read
                && one.assumed == two.assumed
                && one.later == two.later
        };
        *root == twin.root
            && *name == twin.name
            && *certainty == twin.certainty
            && *form == twin.form
            && *tree == twin.tree
            && *source == twin.source
            && *location == twin.location
            && *bootstrapped == twin.bootstrapped
            && members.len() == twin.members.len()
            && *written == twin.written
            && applied.len() == twin.applied.len()
            && *settings == twin.settings
            && *injected == twin.injected
            && sets.len() == twin.sets.len()
            && sets.iter().zip(&twin.sets).all(same_set)
            && releases.len() == twin.releases.len()
            && releases.iter().zip(&twin.releases).all(|(one, two)| one.is_same(two))
            && *generated == twin.generated
            && members.iter().zip(&twin.members).all(same_member)
            && applied.iter().zip(&twin.applied).all(same_applied)
            && *openers == twin.openers
    }
}

/// Whether a Flux Kustomization is the same object with the same outcome.
pub(crate) fn is_same_applied(one: &Applied, two: &Applied) -> bool {
    let same_tree = match (&one.tree, &two.tree) {
        (Some(one), Some(two)) => one.is_laid_out_as(two),
        (None, None) => true,
        _ => false,
    };
    same_tree
        && one.id == two.id
        && one.path == two.path
        && one.target == two.target
        && one.outcome == two.outcome
        && one.node.get_ref().is_same_text(two.node.get_ref())
}
