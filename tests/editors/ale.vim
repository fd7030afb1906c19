" Drives a real Vim with ALE without a screen; DEVICEFIX_PLAN names a JSON file as for neovim.lua.
set nocompatible hidden noswapfile fileformats=unix,dos
let s:ale = filter(['/usr/share/vim-ale', $DEVICEFIX_ALE], 'isdirectory(v:val)')
execute 'set runtimepath^=' . s:ale[0]
filetype plugin on
let s:plan = json_decode(join(readfile($DEVICEFIX_PLAN), "\n"))
let s:report = {'version': v:version, 'files': []}

" As docs/editors/vim.md says.
let g:ale_linters = {'python': ['devicefix']}
let g:ale_linters_explicit = 1
runtime! plugin/ale.vim
call ale#linter#Define('python', {
\ 'name': 'devicefix',
\ 'lsp': 'stdio',
\ 'executable': s:plan.command[0],
\ 'command': join(map(copy(s:plan.command), 'shellescape(v:val)'), ' '),
\ 'project_root': {buffer -> getcwd()},
\ 'initialization_options': {'positionEncoding': 'utf-8'},
\})
let g:ale_lint_delay = 0

func! Finish(problem)
  let s:report.problem = a:problem is '' ? v:null : a:problem
  call writefile([json_encode(s:report)], s:plan.report)
  execute a:problem is '' ? 'qall!' : 'cquit'
endfunc

func! Wait(what, Condition)
  let l:n = 0
  while !a:Condition() && l:n < 3000 | sleep 20m | let l:n += 1 | endwhile
  if !a:Condition() | call Finish('timeout: ' . a:what) | endif
endfunc

func! Found()
  return ale#engine#GetLoclist(bufnr(''))
endfunc

func! FixTheOneFinding()
  call cursor(Found()[0].lnum, Found()[0].col)
  let l:tick = b:changedtick
  call feedkeys("1\<CR>", 't')
  ALECodeAction
  call Wait('the action', {-> b:changedtick != l:tick})
  silent write
endfunc

" ALE asks for the actions at the cursor only, so files with one finding are taken, each through the menu.
for s:file in s:plan.files
  if s:file.findings != 1 | continue | endif
  execute 'edit' fnameescape(s:file.path)
  set filetype=python
  ALELint
  call Wait('a finding in ' . s:file.path, {-> len(Found()) == 1})
  call add(s:report.files, {'path': s:file.path, 'columns': [Found()[0].col]})
  call FixTheOneFinding()
endfor
call Finish('')
