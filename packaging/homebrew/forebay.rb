# A template: `packaging/fill` writes the version and the checksums of a release into it.
class Forebay < Formula
  desc "Offline linter and planner for GitOps repositories of Flux and Cluster API"
  homepage "https://github.com/forebay/forebay"
  version "@VERSION@"
  license any_of: ["MIT", "Apache-2.0"]

  on_macos do
    on_arm do
      url "https://github.com/forebay/forebay/releases/download/v@VERSION@/forebay-@VERSION@-aarch64-apple-darwin.tar.gz"
      sha256 "@SHA256 aarch64-apple-darwin@"
    end
    on_intel do
      url "https://github.com/forebay/forebay/releases/download/v@VERSION@/forebay-@VERSION@-x86_64-apple-darwin.tar.gz"
      sha256 "@SHA256 x86_64-apple-darwin@"
    end
  end

  on_linux do
    on_arm do
      url "https://github.com/forebay/forebay/releases/download/v@VERSION@/forebay-@VERSION@-aarch64-unknown-linux-musl.tar.gz"
      sha256 "@SHA256 aarch64-unknown-linux-musl@"
    end
    on_intel do
      url "https://github.com/forebay/forebay/releases/download/v@VERSION@/forebay-@VERSION@-x86_64-unknown-linux-musl.tar.gz"
      sha256 "@SHA256 x86_64-unknown-linux-musl@"
    end
  end

  def install
    bin.install "forebay"
    man1.install Dir["man/*.1"]
    bash_completion.install "completions/forebay.bash" => "forebay"
    zsh_completion.install "completions/forebay.zsh" => "_forebay"
    fish_completion.install "completions/forebay.fish"
  end

  test do
    (testpath/"configmap.yaml").write <<~YAML
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: a, namespace: b, labels: {c: d e}}
    YAML
    assert_match "malformed-label-value", shell_output("#{bin}/forebay lint", 1)
  end
end
