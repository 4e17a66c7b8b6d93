//! What the tests, the benches and the tools of this tree reach of the inside, name by
//! name, under the rooms' own names; no promise to anybody else. What stands neither
//! here nor in the call of `main` is private, so the compiler sees what nothing uses.

#![allow(missing_docs, reason = "each is documented where it stands")]

pub mod lang {
    pub mod go {
        pub mod cron {
            pub use crate::lang::go::cron::{CronError, CronSchedule};
        }
        pub mod duration {
            pub use crate::lang::go::duration::{
                GoDuration, matches_interval_pattern, matches_timeout_pattern,
            };
        }
        pub mod regexp {
            pub use crate::lang::go::regexp::{GoRegexp, RegexpError};
        }
    }
    pub mod template {
        pub use crate::lang::template::{
            Bound, Condition, Data, Documents, Engine, EngineRun, Flow, FuncMap, Libraries, Limits,
            MissingKey, OriginId, Output, OutputPart, ParseError, Place, SharedBytes, Span, TemplateFailure,
            TraceSource, Val, document, page, with_stack,
        };
        pub mod helm {
            pub use crate::lang::template::helm::{
                execution_error, execution_error_in_a_line, parse_error, sort,
            };
        }
    }
    pub mod yaml {
        pub use crate::lang::yaml::{
            Dialect, EntryRef, FilePath, Known, Location, Node, NodeKind, NodeRef, Scalar, ScalarStyle,
            Source, Stream, SyntaxErrorKind, Tree, Value, ViaKind, WorkPath, parse_nodes, pointer_join,
            pointer_segments,
        };
        pub mod edit {
            pub use crate::lang::yaml::edit::{
                Compiled, Content, KeyPlace, Operation, Prune, RefusedEdit, compile,
            };
            pub mod verify {
                pub use crate::lang::yaml::edit::verify::{second_witness, splice, verify};
            }
        }
        pub mod emit {
            pub use crate::lang::yaml::emit::{EmitError, to_json, to_yaml};
        }
        pub mod go_compat {
            pub use crate::lang::yaml::go_compat::{
                DocumentReader, apimachinery_documents, decode, kustomize_documents,
            };
        }
        pub mod resolve {
            pub use crate::lang::yaml::resolve::{format_float, timestamp_rfc3339};
        }
        pub mod tape {
            pub use crate::lang::yaml::tape::{Document, TokenKind};
        }
    }
}
pub mod model {
    pub use crate::model::{Category, EffectKind, ObjectId, Unchecked};
    pub mod kinds {
        pub use crate::model::kinds::{KINDS, SOURCE, is_kustomization};
    }
    pub mod references {
        pub use crate::model::references::{Role, references};
    }
    pub mod text {
        pub use crate::model::text::Text;
    }
}
pub mod files {
    pub use crate::files::{File, FileTree, Snapshot, Store};
}
pub mod config {
    pub use crate::config::{Assumed, Config, FILE_NAME, Level, SCHEMA, read};
}
pub mod schema {
    pub use crate::schema::{Options, Schema, json, json_schema, validate};
    pub mod table {
        pub use crate::schema::table::{
            GATEWAY, MAGIC, OBJECT_META, PRODUCTS, field, find, kinds, operator_kinds, type_bit,
        };
    }
}
pub mod build {
    pub mod helm {
        pub use crate::build::helm::{
            Capabilities, Chart, ChartFile, ChartRelease, Dependency, Given, Head, Helm, HelmLine, Hook,
            Keep, Kind, KubeVersion, Maintainer, ManifestDocument, Map, Metadata, Nulls, Printed, Refusal,
            RenderError, RenderRequest, RenderedChart, SchemaFault, SchemaFaultKind, Style, Value, Warning,
            coalesced, merge_maps, render, set, values_of,
        };
    }
    pub mod kustomize {
        pub use crate::build::kustomize::{
            BaseMemo, Build, BuildError, BuildOptions, FILE_NAMES, LoadRestriction, build,
        };
    }
    pub mod substitute {
        pub use crate::build::substitute::{
            Definition, ExpandError, ProblemKind, Provided, Variable, Variables, config_map_keys, expand,
            opts_out, substitute,
        };
    }
}
pub mod world {
    pub use crate::world::helm_charts::helm_charts;
    pub use crate::world::{Applied, ApplyTarget, Cluster, Effective, Outcome, World};
    pub mod build {
        pub mod helm {
            pub use crate::build::helm::{
                Capabilities, Chart, ChartFile, ChartRelease, Dependency, Given, Head, Helm, HelmLine, Hook,
                Keep, Kind, KubeVersion, Maintainer, ManifestDocument, Map, Metadata, Nulls, Printed,
                Refusal, RenderError, RenderRequest, RenderedChart, Style, Value, Warning, coalesced,
                merge_maps, render, set, values_of,
            };
        }
        pub use crate::world::build::{FluxBuild, Memo, build};
    }
}
pub mod simulate {
    pub mod cluster_api {
        pub mod hooks {
            pub mod extension_config {
                pub use crate::simulate::cluster_api::hooks::extension_config::ExtensionConfig;
            }
            pub mod input {
                pub use crate::simulate::cluster_api::hooks::input::answer;
            }
            pub mod simulate {
                pub use crate::simulate::cluster_api::hooks::simulate::{
                    Event, RuntimeSdk, SimulationRequest, simulate,
                };
            }
        }
        pub mod propagation {
            pub use crate::simulate::cluster_api::propagation::{
                KeySource, Keys, MachineDeployment, Metadata, MetadataEntry, Strategy, control_plane,
                control_plane_machine_template, machine, machine_set, merge,
            };
            pub mod node {
                pub use crate::simulate::cluster_api::propagation::node::{
                    MachineIdentity, MachineTaint, NodeMetadata, TAINTS_FROM_MACHINE, Taint, WantedMetadata,
                    annotations, is_outdated, patch, propagate_taints, syncs_label,
                };
            }
            pub mod simulate {
                pub use crate::simulate::cluster_api::propagation::simulate::{
                    PropagationSettings, simulate,
                };
            }
        }
        pub mod references {
            pub use crate::simulate::cluster_api::references::scopes;
        }
        pub mod rollout {
            pub use crate::simulate::cluster_api::rollout::ObjectRef;
            pub mod control_plane {
                pub use crate::simulate::cluster_api::rollout::control_plane::{
                    ControlPlane, ControlPlaneMachine, InfraMachine, matches_infra_machine, up_to_date,
                };
            }
            pub mod kubeadm_config {
                pub use crate::simulate::cluster_api::rollout::kubeadm_config::matches;
            }
            pub mod machine_deployment {
                pub use crate::simulate::cluster_api::rollout::machine_deployment::{
                    MachineSet, MachineTemplate, find_new_and_old_machine_sets, machine_template_up_to_date,
                };
            }
            pub mod template {
                pub use crate::simulate::cluster_api::rollout::template::{
                    TemplateOutcome, summarise, template_outcome,
                };
            }
        }
        pub mod ssa {
            pub use crate::simulate::cluster_api::ssa::{KeyOutcome, ManagedMap, apply};
        }
        pub mod topology {
            pub use crate::simulate::cluster_api::topology::Cluster;
        }
    }
    pub mod gating {
        pub use crate::simulate::gating::parse_request_time;
        pub mod commands {
            pub use crate::simulate::gating::commands::{Container, actions};
        }
        pub mod objects {
            pub use crate::simulate::gating::objects::Gating;
        }
        pub mod schedule {
            pub use crate::simulate::gating::schedule::{ScheduleSpec, Schedules};
        }
        pub mod timeline {
            pub use crate::simulate::gating::timeline::{PassState, Range, Simulation, changes, simulate};
        }
    }
    pub mod notify {
        pub use crate::simulate::notify::{
            EVENT_PREFIX, InvolvedObject, Metadata, clean_up, exclude_internal, posted, rate_limit_key,
        };
        pub mod alerts {
            pub use crate::simulate::notify::alerts::{
                Alert, Event, EventSource, OPERATOR_SOURCE_KINDS, SOURCE_KINDS, matches,
            };
        }
        pub mod combine {
            pub use crate::simulate::notify::combine::{
                CONFLICT_MESSAGE, CONFLICT_REASON, Conflict, LOG_PREFIX, MetadataSource,
                SUMMARY_DEPRECATION_LOG, combine, report,
            };
        }
        pub mod commit_status {
            pub use crate::simulate::notify::commit_status::{Cel, default_commit_status, evaluate};
        }
        pub mod delivery {
            pub use crate::simulate::notify::delivery::{Controller, Delivery, Dispatch, Provider, deliver};
        }
        pub mod providers {
            pub use crate::simulate::notify::providers::{
                CommitStatusGate, ProviderGate, sets_commit_status,
            };
        }
        pub mod simulate {
            pub use crate::simulate::notify::simulate::{Emission, Notifier, items};
        }
    }
    pub mod suspend {
        pub use crate::simulate::suspend::suspension;
    }
}
pub mod lint {
    pub use crate::lint::{Applicability, Check, Finding, FixAvailability, Group, LintMemo, Rule};
    pub mod engine {
        pub use crate::lint::engine::{
            LintOptions, LintOutcome, NotChecked, run, run_again, run_both, run_change,
        };
    }
    pub mod rules {
        pub use crate::lint::rules::RULES;
    }
}
pub mod plan {
    pub use crate::plan::{
        ClusterChange, Effect, Note, Planned, Upgrade, behaviours, only_in, plan, planned, reach,
    };
}
pub mod rewrite {
    pub use crate::rewrite::{FileChange, plan};
    pub mod fix {
        pub use crate::rewrite::fix::fix;
    }
    pub mod refactor {
        pub use crate::rewrite::refactor::{Refused, Rename, Series, changed};
        pub mod class {
            pub use crate::rewrite::refactor::class::{ClassPartKind, PartOfClass};
        }
        pub mod files {
            pub use crate::rewrite::refactor::files::series;
        }
        pub mod moves {
            pub use crate::rewrite::refactor::moves::Moves;
        }
        pub mod objects {
            pub use crate::rewrite::refactor::objects::Handover;
        }
        pub mod variable {
            pub use crate::rewrite::refactor::variable::Variable;
        }
    }
    pub mod subject {
        pub use crate::rewrite::subject::{Subject, Unproven, manifest_of, prove};
    }
    pub mod suspend {
        pub use crate::rewrite::suspend::{Aim, is_suspendable};
    }
    pub mod write {
        pub use crate::rewrite::write::write;
    }
}
pub mod report {
    pub use crate::report::{Lint, Terminal, place};
    pub mod concise {
        pub use crate::report::concise::write;
    }
    pub mod diff {
        pub use crate::report::diff::{Look, write};
    }
    pub mod full {
        pub use crate::report::full::write;
    }
    pub mod gates {
        pub use crate::report::gates::{ClusterGates, View};
        pub mod json {
            pub use crate::report::gates::json::body;
        }
        pub mod mermaid {
            pub use crate::report::gates::mermaid::render;
        }
        pub mod svg {
            pub use crate::report::gates::svg::render;
        }
        pub mod text {
            pub use crate::report::gates::text::render;
        }
        pub mod why {
            pub use crate::report::gates::why::render;
        }
    }
    pub mod github {
        pub use crate::report::github::write;
    }
    pub mod gitlab {
        pub use crate::report::gitlab::report;
    }
    pub mod hooks {
        pub use crate::report::hooks::{json, text};
    }
    pub mod json {
        pub use crate::report::json::{lint, write};
    }
    pub mod html {
        pub use crate::report::html::render;
    }
    pub mod junit {
        pub use crate::report::junit::write;
    }
    pub mod markdown {
        pub use crate::report::markdown::write;
    }
    pub mod objects {
        pub use crate::report::objects::{json, origins, unresolved, yaml};
    }
    pub mod plan {
        pub use crate::report::plan::{Plan, github, json, markdown, text};
    }
    pub mod propagation {
        pub use crate::report::propagation::{ClusterMetadata, json, text};
    }
    pub mod sarif {
        pub use crate::report::sarif::log;
    }
    pub mod steps {
        pub use crate::report::steps::{StepsRun, json, patch, refusals, sentence, text};
    }
    pub mod suspend {
        pub use crate::report::suspend::{json, states, text};
    }
}
