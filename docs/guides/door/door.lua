-- Asks the door whether a visitor may make a request, and keeps the answer in
-- txn.door_status and txn.door_age. Without an answer, the status is not 200.

core.register_action("door", { "http-req" }, function(txn)
	local headers = {
		["x-forwarded-method"] = { txn.f:method() },
		["x-forwarded-uri"] = { txn.f:pathq() },
		["cookie"] = { txn.f:req_fhdr("cookie") or "" },
		["user-agent"] = { txn.f:req_fhdr("user-agent") or "" },
	}
	local res = core.httpclient():get({ url = "http://127.0.0.1:8090/_door/auth", headers = headers })
	local age = res.headers and res.headers["x-age-over"]
	txn:set_var("txn.door_status", res.status or 0)
	txn:set_var("txn.door_age", age and age[0] or "0")
end)
