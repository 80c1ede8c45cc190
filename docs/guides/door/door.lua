-- Asks the door whether a visitor may make a request, and keeps the answer in
-- txn.door_status and txn.door_age. Without an answer, the status is not 200.

core.register_action("door", { "http-req" }, function(txn)
	local headers = {
		["x-forwarded-method"] = { txn.f:method() },
		["x-forwarded-uri"] = { txn.f:pathq() },
		["x-forwarded-for"] = { txn.f:src() },
	}
	-- The last two are those of DOOR_REGION_HEADER.
	for _, name in ipairs({ "cookie", "accept", "accept-language", "from", "signature", "cf-ipcountry", "cf-region-code" }) do
		headers[name] = { txn.f:req_fhdr(name) }
	end
	local res = core.httpclient():get({ url = "http://127.0.0.1:8090/_door/auth", headers = headers })
	local age = res.headers and res.headers["x-age-over"]
	txn:set_var("txn.door_status", res.status or 0)
	txn:set_var("txn.door_age", age and age[0] or "0")
end)
