-- Drives a real Neovim (0.7 or newer) without a screen. DEVICEFIX_PLAN names a JSON file:
-- {"command": [...], "report": "...", "files": [{"path": "...", "findings": 2}], "menu": "...", "on_save": "...",
-- "unsaved": "...", "docs": "..."}
-- Each file is opened, diagnosed, fixed with source.fixAll and saved; "menu" is fixed as a user would, through
-- vim.lsp.buf.code_action() and its menu; "unsaved" holds a text that is typed into a buffer that was never saved.

local plan = vim.fn.json_decode(table.concat(vim.fn.readfile(vim.env.DEVICEFIX_PLAN), '\n'))
local report = { version = tostring(vim.version().major) .. '.' .. vim.version().minor, files = {} }

local function finish(problem)
  report.problem = problem
  vim.fn.writefile({ vim.fn.json_encode(report) }, plan.report)
  vim.cmd(problem and 'cquit 1' or 'qall!')
end

local function wait(what, condition)
  if not vim.wait(60000, condition, 20) then finish('timeout: ' .. what) end
end

vim.o.swapfile = false
vim.o.hidden = true
vim.o.fileformats = 'unix,dos'
vim.o.fixendofline = false

-- Set up as docs/editors/neovim.md says: vim.lsp.config where there is one (0.11), vim.lsp.start before (0.8), else
-- the client is started by hand.
local config = { name = 'devicefix', cmd = plan.command, root_dir = vim.fn.getcwd() }
local function attach(buffer)
  vim.bo[buffer].filetype = 'python'
  if vim.lsp.config and vim.lsp.enable then
    return
  elseif vim.lsp.start then
    vim.lsp.start(config)
  else
    config.id = config.id or vim.lsp.start_client(config)
    vim.lsp.buf_attach_client(buffer, config.id)
  end
end
if vim.lsp.config and vim.lsp.enable then
  vim.lsp.config('devicefix', { cmd = plan.command, filetypes = { 'python' }, root_markers = { 'pyproject.toml' } })
  vim.lsp.enable('devicefix')
end

local function clients(buffer)
  if vim.lsp.get_clients then return vim.lsp.get_clients({ bufnr = buffer }) end
  return vim.tbl_values(vim.lsp.buf_get_clients(buffer))
end

local function diagnosed(buffer, count)
  wait(('%d diagnostics in %s, have %d'):format(count, vim.api.nvim_buf_get_name(buffer), #vim.diagnostic.get(buffer)),
    function() return #vim.diagnostic.get(buffer) == count end)
end

local function fix_all(buffer)
  local client = clients(buffer)[1]
  local params = {
    textDocument = vim.lsp.util.make_text_document_params(buffer),
    range = { start = { line = 0, character = 0 }, ['end'] = { line = vim.api.nvim_buf_line_count(buffer), character = 0 } },
    context = { diagnostics = {}, only = { 'source.fixAll.devicefix' } },
  }
  local answer = vim.lsp.buf_request_sync(buffer, 'textDocument/codeAction', params, 60000)
  local actions = answer and answer[client.id] and answer[client.id].result or {}
  if #actions ~= 1 then finish('actions: ' .. vim.inspect(actions)) end
  local resolved = actions[1].edit and { [client.id] = { result = actions[1] } }
    or vim.lsp.buf_request_sync(buffer, 'codeAction/resolve', actions[1], 60000)
  vim.lsp.util.apply_workspace_edit(resolved[client.id].result.edit, client.offset_encoding)
end

local function open(path)
  vim.cmd('edit ' .. vim.fn.fnameescape(path))
  local buffer = vim.api.nvim_get_current_buf()
  attach(buffer)
  wait('a client for ' .. path, function()
    local attached = clients(buffer)[1]
    return attached and attached.initialized
  end)
  return buffer
end

for _, file in ipairs(plan.files) do
  local buffer = open(file.path)
  diagnosed(buffer, file.findings)
  report.encoding = clients(buffer)[1].offset_encoding
  table.insert(report.files, { path = file.path, columns = vim.tbl_map(function(d) return d.col end, vim.diagnostic.get(buffer)) })
  fix_all(buffer)
  vim.cmd('silent write')
end

-- Saving makes the safe fixes, with the autocommand of docs/editors/neovim.md.
for block in table.concat(vim.fn.readfile(plan.docs), '\n'):gmatch('```lua\n(.-)```') do
  if block:find('BufWritePre') then assert((loadstring or load)(block))() end
end
local on_save = open(plan.on_save)
diagnosed(on_save, 1)
vim.cmd('silent write')
vim.api.nvim_clear_autocmds({ event = 'BufWritePre' })

-- The user's way: the cursor on the finding, the menu, its first entry.
local buffer = open(plan.menu)
diagnosed(buffer, 1)
local found = vim.diagnostic.get(buffer)[1]
vim.api.nvim_win_set_cursor(0, { found.lnum + 1, found.col })
vim.ui.select = function(items, _, choose)
  report.menu = vim.tbl_map(function(item) return (item.action or item[2]).title end, items)
  choose(items[1], 1)
end
local before = vim.api.nvim_buf_get_changedtick(buffer)
vim.lsp.buf.code_action()
wait('the action', function() return vim.api.nvim_buf_get_changedtick(buffer) ~= before end)
diagnosed(buffer, 0)
vim.cmd('silent write')

-- A buffer that was never written.
vim.cmd('enew')
buffer = vim.api.nvim_get_current_buf()
vim.api.nvim_buf_set_name(buffer, vim.fn.getcwd() .. '/never_saved.py')
attach(buffer)
vim.api.nvim_buf_set_lines(buffer, 0, -1, false, vim.split(plan.unsaved, '\n'))
wait('a client', function() return clients(buffer)[1] ~= nil end)
diagnosed(buffer, 1)
fix_all(buffer)
report.unsaved = table.concat(vim.api.nvim_buf_get_lines(buffer, 0, -1, false), '\n')
diagnosed(buffer, 0)

for _, client in ipairs(clients(buffer)) do
  if client.stop then
    local stopped = pcall(client.stop, client)
    if not stopped then client.stop() end
  end
end
vim.wait(5000, function() return #clients(buffer) == 0 end, 20)
finish(nil)
