;;; A session of Emacs' own client, Eglot, with the real server: the environment names
;;; the binary and a repository.  Prints what the editor shows; leaves with an error
;;; where that is not what it should be.  -*- lexical-binding: t -*-

(require 'package)
(package-initialize)
(require 'eglot)
(require 'flymake)
(require 'xref)

(defvar binary (getenv "FOREBAY"))
(defvar root (file-name-as-directory (file-truename (getenv "FOREBAY_REPOSITORY"))))

(defun fail (&rest what)
  (princ (format "FAILED: %s\n" (apply #'format what)))
  (kill-emacs 1))

(defun wait-for (what is-so)
  (let ((end (+ (float-time) 60)))
    (while (not (funcall is-so))
      (when (> (float-time) end) (fail "%s" what))
      (accept-process-output nil 0.05))))

(defun say (text &rest values)
  (princ (concat (apply #'format text values) "\n")))

(setq eglot-connect-timeout 60 eglot-sync-connect 60 eglot-confirm-server-initiated-edits nil)
;; As docs/editor.md has it.
(add-to-list 'eglot-server-programs `((yaml-mode yaml-ts-mode) . (,binary "lsp")))

(find-file (concat root "clusters/prod/apps.yaml"))
(unless (derived-mode-p 'yaml-mode)
  (define-derived-mode yaml-mode text-mode "YAML")
  (yaml-mode))
(eglot-ensure)
(unless (eglot-current-server)
  (apply #'eglot (eglot--guess-contact)))
(wait-for "the server starts" (lambda () (eglot-managed-p)))

;; Without a screen no command loop runs: what it does after a change is done here.
(defun tell ()
  (eglot--signal-textDocument/didChange))

(defun problems ()
  (flymake-start nil)
  (flymake-diagnostics))

(defun replace-line (line text)
  (goto-char (point-min))
  (forward-line (1- line))
  (delete-region (point) (line-end-position))
  (insert text)
  (tell))

(defun show (title)
  (say "-- %s" title)
  (dolist (one (problems))
    (say "%d: %s" (line-number-at-pos (flymake-diagnostic-beg one))
         (car (split-string (flymake-diagnostic-text one) "\n")))))

;; A name that nothing has.
(replace-line 8 "    - name: infr")
(wait-for "a finding appears" (lambda () (= (length (problems)) 1)))
(show "dependsOn a name that nothing has")

;; What may stand there.
(goto-char (line-end-position))
(say "-- completion")
(let* ((found (eglot-completion-at-point))
       (all (all-completions "infr" (nth 2 found))))
  (dolist (one all) (say "%s" (substring-no-properties one)))
  (unless (member "infra" (mapcar #'substring-no-properties all)) (fail "completion: %S" all)))

(replace-line 8 "    - name: infra")
(wait-for "the finding goes" (lambda () (null (problems))))
(show "mended")

(goto-char (- (line-end-position) 2))
(say "-- hover")
(let ((hover (jsonrpc-request (eglot-current-server) :textDocument/hover
                              (eglot--TextDocumentPositionParams))))
  (say "%s" (string-trim (substring-no-properties
                          (eglot--format-markup (plist-get hover :contents))))))

(say "-- definition")
(let* ((found (car (xref-backend-definitions 'eglot "")))
       (place (xref-item-location found)))
  (say "%s:%d %s" (file-relative-name (xref-location-group place) root)
       (xref-location-line place) (substring-no-properties (xref-item-summary found)))
  (unless (string-match-p "infra.yaml" (xref-location-group place)) (fail "the definition is elsewhere")))

(say "-- symbols")
(let ((all (jsonrpc-request (eglot-current-server) :textDocument/documentSymbol
                            (list :textDocument (eglot--TextDocumentIdentifier)))))
  (seq-do (lambda (one) (say "%s" (plist-get one :name))) all)
  (when (seq-empty-p all) (fail "no symbols")))

;; A name that is referred to, everywhere; a person is asked first.
(fset 'y-or-n-p (lambda (&rest _) t))
(say "-- rename")
(find-file (concat root "infra/sources.yaml"))
(unless (derived-mode-p 'yaml-mode) (yaml-mode))
(eglot-ensure)
(unless (eglot-managed-p) (eglot--maybe-activate-editing-mode))
(wait-for "the second file is followed" (lambda () (eglot-managed-p)))
(goto-char (point-min))
(search-forward "name: ch")
(eglot-rename "bitnami")
(unless (string-match-p "name: bitnami" (buffer-string)) (fail "the name stays"))
(with-current-buffer (find-file-noselect (concat root "apps/base/release.yaml"))
  (goto-char (point-min))
  (search-forward "bitnami" nil t)
  (say "apps/base/release.yaml:%d %s" (line-number-at-pos)
       (string-trim (buffer-substring (line-beginning-position) (line-end-position))))
  (unless (string-match-p "name: bitnami" (buffer-string)) (fail "the reference stays")))

(eglot-shutdown (eglot-current-server))
(say "done")
(kill-emacs 0)
