-- A session of Neovim's own client with the real server: arguments are the binary and
-- a repository. Prints what the editor shows; leaves with an error where that is not
-- what it should be.

local binary, root = vim.env.FOREBAY, vim.env.FOREBAY_REPOSITORY

local function fail(message)
  print('FAILED: ' .. message)
  vim.cmd('cquit 1')
end

local function wait_for(what, is_so)
  if not vim.wait(60000, is_so, 50) then
    fail(what)
  end
end

local client = vim.lsp.start_client({ name = 'forebay', cmd = { binary, 'lsp' }, root_dir = root })
if not client then
  fail('the server does not start')
end

vim.cmd('edit ' .. root .. '/clusters/prod/apps.yaml')
local buffer = vim.api.nvim_get_current_buf()
vim.lsp.buf_attach_client(buffer, client)
wait_for('the client attaches', function()
  return vim.lsp.get_client_by_id(client) ~= nil and vim.lsp.buf_is_attached(buffer, client)
end)

local function problems()
  return vim.diagnostic.get(buffer)
end

local function show(title)
  print('-- ' .. title)
  for _, one in ipairs(problems()) do
    print(string.format('%d:%d [%s] %s', one.lnum + 1, one.col + 1, one.code or '', (one.message:gsub('\n.*', ''))))
  end
end

-- A name that nothing has.
local function replace(line, text)
  vim.api.nvim_buf_set_lines(buffer, line - 1, line, false, text)
end
replace(8, { '    - name: infr' })
wait_for('a finding appears', function()
  return #problems() == 1
end)
show('dependsOn a name that nothing has')
if problems()[1].code ~= 'missing-reference' then
  fail('another finding: ' .. vim.inspect(problems()))
end

-- What may stand there.
local function request(method, line, column)
  local parameters = {
    textDocument = vim.lsp.util.make_text_document_params(buffer),
    position = { line = line - 1, character = column },
    context = { triggerKind = 1 },
  }
  local answers, error = vim.lsp.buf_request_sync(buffer, method, parameters, 60000)
  if not answers or not answers[client] or answers[client].error then
    fail(method .. ': ' .. vim.inspect(error or answers))
  end
  return answers[client].result
end
print('-- completion')
for _, item in ipairs(vim.lsp.util.extract_completion_items(request('textDocument/completion', 8, 16))) do
  print(item.label .. '  ' .. item.detail)
end

replace(8, { '    - name: infra' })
wait_for('the finding goes', function()
  return #problems() == 0
end)
show('mended')

print('-- hover')
local hover = request('textDocument/hover', 8, 14)
for _, line in ipairs(vim.lsp.util.convert_input_to_markdown_lines(hover.contents)) do
  print(line)
end

print('-- definition')
local found = request('textDocument/definition', 8, 14)
local place = vim.lsp.util.locations_to_items(found, 'utf-16')[1]
print(place.filename:sub(#root + 2) .. ':' .. place.lnum .. ':' .. place.col .. ' ' .. place.text)
if not place.text:find('name: infra') then
  fail('the definition is elsewhere')
end

print('-- symbols')
for _, symbol in ipairs(vim.lsp.util.symbols_to_items(request('textDocument/documentSymbol', 1, 0), buffer)) do
  if symbol.kind == 'Object' then
    print(symbol.text)
  end
end

-- An unfinished line.
replace(9, { '  interval: 10m', '  time' })
wait_for('the syntax is told', function()
  return #problems() == 1
end)
show('an unfinished line')
if #request('textDocument/definition', 8, 14) ~= 1 then
  fail('an unfinished line empties the view')
end

vim.lsp.stop_client(client)
print('done')
vim.cmd('qall!')
