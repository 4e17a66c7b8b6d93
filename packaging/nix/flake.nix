# Built from source: nix run 'github:forebay/forebay?dir=packaging/nix' -- lint
{
  description = "Offline linter, simulator, planner and in-place rewriter for GitOps repositories of Flux and Cluster API manifests";

  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";

  outputs =
    { self, nixpkgs }:
    let
      systems = [
        "x86_64-linux"
        "aarch64-linux"
        "x86_64-darwin"
        "aarch64-darwin"
      ];
      each = nixpkgs.lib.genAttrs systems;
      manifest = nixpkgs.lib.importTOML ../../Cargo.toml;
    in
    {
      packages = each (
        system:
        let
          pkgs = nixpkgs.legacyPackages.${system};
        in
        {
          default = pkgs.rustPlatform.buildRustPackage {
            pname = manifest.package.name;
            version = manifest.package.version;
            src = ../..;
            cargoLock.lockFile = ../../Cargo.lock;
            # The tests take git, shells and a registry of images.
            doCheck = false;
            nativeBuildInputs = [ pkgs.installShellFiles ];
            postInstall = ''
              $out/bin/forebay man --output-dir man
              installManPage man/*
              for shell in bash fish zsh; do
                $out/bin/forebay completions $shell >forebay.$shell
              done
              installShellCompletion forebay.bash forebay.fish forebay.zsh
            '';
            meta = {
              inherit (manifest.package) description;
              homepage = manifest.package.repository;
              license = with pkgs.lib.licenses; [
                mit
                asl20
              ];
              mainProgram = "forebay";
            };
          };
        }
      );
    };
}
