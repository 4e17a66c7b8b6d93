provider "flux" {
  kubernetes = {
    config_path = "~/.kube/config"
  }
}

resource "flux_bootstrap_git" "this" {
  embedded_manifests = true
  path               = "clusters/${each.key}"
  namespace = "flux"
}
