;; Drives a real Emacs with eglot without a screen:  emacs -q --batch -l emacs.el
;; DEVICEFIX_PLAN names a JSON file as for neovim.lua.  -*- lexical-binding: t -*-
(package-initialize)
(require 'cl-lib)
(require 'json)
(require 'eglot)
(require 'flymake)

(defvar plan (let ((json-object-type 'plist) (json-array-type 'list))
               (json-read-file (getenv "DEVICEFIX_PLAN"))))
(defvar report-files nil)
(defvar report-extra nil)

(setq eglot-sync-connect t eglot-autoshutdown nil make-backup-files nil create-lockfiles nil
      require-final-newline nil mode-require-final-newline nil python-indent-guess-indent-offset nil
      eglot-confirm-server-initiated-edits nil)

;; As docs/editors/emacs.md says.
(add-to-list 'eglot-server-programs `((python-mode) . ,(plist-get plan :command)))

(defun finish (problem)
  (with-temp-file (plist-get plan :report)
    (insert (json-encode `((version . ,emacs-version) (problem . ,problem)
                           (files . ,(vconcat (reverse report-files))) ,@report-extra))))
  (kill-emacs (if problem 1 0)))

(defun wait-for (what condition)
  (let ((end (+ (float-time) 60)))
    (while (and (not (funcall condition)) (< (float-time) end))
      (accept-process-output nil 0.05))
    (unless (funcall condition) (finish (format "timeout: %s" what)))))

(defun diagnosed (count)
  (wait-for (format "%d diagnostics in %s, have %d" count (buffer-name) (length (flymake-diagnostics)))
            (lambda ()
              (eglot--signal-textDocument/didChange) ; batch Emacs is never idle, which is when eglot does it
              (flymake-start)
              (= (length (flymake-diagnostics)) count))))

(defun manage ()
  (unless (derived-mode-p 'python-mode) (python-mode))
  (if (eglot-current-server) (eglot--maybe-activate-editing-mode)
    (apply #'eglot (append (eglot--guess-contact) nil)))
  (wait-for "eglot" (lambda () eglot--managed-mode)))

(defun carry-out (action)
  (unless (or (plist-get action :edit) (plist-get action :command))
    (setq action (jsonrpc-request (eglot--current-server-or-lose) :codeAction/resolve action)))
  (eglot--apply-workspace-edit (plist-get action :edit) nil))

(defun fix-all ()
  (let ((actions (eglot-code-actions (point-min) (point-max) "source.fixAll.devicefix")))
    (unless (= (length actions) 1) (finish (format "actions: %S" actions)))
    (carry-out (car actions))))

(condition-case problem
    (progn
      (dolist (file (plist-get plan :files))
        (find-file (plist-get file :path))
        (manage)
        (diagnosed (plist-get file :findings))
        (push `((path . ,(plist-get file :path))
                (texts . ,(vconcat (mapcar (lambda (d) (buffer-substring-no-properties (flymake-diagnostic-beg d)
                                                                                       (flymake-diagnostic-end d)))
                                           (flymake-diagnostics)))))
              report-files)
        (fix-all)
        (save-buffer))

      ;; The user's way: the cursor on the finding, and the first of the code actions there.
      (find-file (plist-get plan :menu))
      (manage)
      (diagnosed 1)
      (goto-char (flymake-diagnostic-beg (car (flymake-diagnostics))))
      (let ((actions (eglot-code-actions (point) (point))))
        (push `(menu . ,(vconcat (mapcar (lambda (a) (plist-get a :title)) actions))) report-extra)
        (carry-out (car actions)))
      (diagnosed 0)
      (save-buffer)

      ;; A buffer that was never written.
      (find-file (expand-file-name "never_saved.py"))
      (insert (plist-get plan :unsaved))
      (manage)
      (diagnosed 1)
      (fix-all)
      (push `(unsaved . ,(buffer-substring-no-properties (point-min) (point-max))) report-extra)
      (diagnosed 0)
      (set-buffer-modified-p nil)

      ;; An action that comes as a command: the server asks Emacs to make the edit.
      (find-file (expand-file-name "ignored.py"))
      (insert (plist-get plan :unsaved))
      (manage)
      (diagnosed 1)
      (goto-char (flymake-diagnostic-beg (car (flymake-diagnostics))))
      (let* ((action (cl-find-if (lambda (a) (string-match "ignore" (plist-get a :title)))
                                 (eglot-code-actions (point) (point))))
             (command (plist-get action :command)))
        (eglot-execute-command (eglot--current-server-or-lose) (intern (plist-get command :command))
                               (plist-get command :arguments)))
      (diagnosed 0)
      (push `(ignored . ,(buffer-substring-no-properties (point-min) (point-max))) report-extra)
      (set-buffer-modified-p nil)
      (eglot-shutdown (eglot--current-server-or-lose))
      (finish nil))
  (error (finish (error-message-string problem))))
