# A shop that sells one thing to adults, in Ruby 3.1 or newer with the gem webrick: ruby shop.rb
require "cgi"
require "json"
require "net/http"
require "openssl"
require "securerandom"
require "webrick"

# The 32 bytes of a secret. An empty or damaged one is refused: under it, anybody could sign.
def key_of(variable, prefix)
  encoded = ENV[variable].to_s[%r{\A#{prefix}([A-Za-z0-9+/]{43}=)\z}, 1]
  encoded ? encoded.unpack1("m0") : abort("#{variable} must be #{prefix} and 32 bytes in base64")
end

API_KEY = ENV.fetch("AGEGATE_API_KEY")
REDIRECT_KEY = key_of("AGEGATE_REDIRECT_SECRET", "rdsec_(?:test|live)_")
WEBHOOK_KEY = key_of("AGEGATE_WEBHOOK_SECRET", "whsec_")

Order = Struct.new(:browser, :number, :session, :released)
ORDERS = [] # the newest last; a real shop has a database
LOCK = Mutex.new

# Sends a request to the gateway. Every answer but a success is an error with the gateway's detail and the request's ID.
def call(type, path, body: nil, headers: {})
  request = type.new(URI("#{ENV.fetch("AGEGATE_URL")}/api/v1/sessions/#{path}"), headers)
  request["X-API-Key"] = API_KEY
  request.body = body
  answer = Net::HTTP.start(request.uri.host, request.uri.port, use_ssl: request.uri.scheme == "https",
                           open_timeout: 5, read_timeout: 15) { |http| http.request(request) }
  return JSON.parse(answer.body) if answer.is_a?(Net::HTTPSuccess)

  raise "The gateway answers #{answer.code}: #{answer.body} (request #{answer["X-Request-ID"]})"
end

def create_session(key)
  success_url = "#{ENV.fetch("SHOP_URL")}/thanks?order=#{key}"
  call(Net::HTTP::Post, "create", body: JSON.generate(target_age: 18, success_url: success_url),
       headers: { "Content-Type" => "application/json", "Idempotency-Key" => key })
end

def passed?(session)
  call(Net::HTTP::Get, "#{session}/status")["status"] == "PASSED"
end

# Whether a redirect to the Success URL proves the pass of the session that the shop created for this shopper.
# query_string is what follows the "?" of the address, as received.
def redirect_proves?(query_string, session)
  query = Hash.new { |all, name| all[name] = [] }
  query_string.to_s.b.split("&").each do |pair|
    name, value = pair.split("=", 2).map { |part| CGI.unescape(part, Encoding::BINARY) }
    query[name] << value.to_s
  end
  values = %w[session status is_adult token].map { |name| query[name] }
  return false unless values.all? { |list| list.size == 1 }

  given, status, is_adult, token = values.flatten
  expires = token[/\A[0-9]{1,15}(?=\.)/]
  return false unless expires

  mac = OpenSSL::HMAC.digest("SHA256", REDIRECT_KEY, [given, status, is_adult, expires].join("|"))
  wanted = "#{expires}.#{[mac].pack("m0").tr("+/", "-_").delete("=")}"
  OpenSSL.secure_compare(wanted, token) && Time.now.to_i <= expires.to_i &&
    given == session && status == "VERIFIED" && is_adult == "true"
end

# The event of a webhook, or nil if the delivery does not verify. The body is the bytes as received.
def event_of(request)
  id, timestamp, signatures = %w[webhook-id webhook-timestamp webhook-signature].map { |name| request[name].to_s }
  return nil unless timestamp.match?(/\A[0-9]{1,15}\z/) && (Time.now.to_i - timestamp.to_i).abs <= 300

  mac = OpenSSL::HMAC.digest("SHA256", WEBHOOK_KEY, "#{id}.#{timestamp}.".b + request.body.to_s.b)
  wanted = "v1,#{[mac].pack("m0")}"
  JSON.parse(request.body) if signatures.split.any? { |signature| OpenSSL.secure_compare(wanted, signature) }
end

# Ships an order once, whichever proof of its pass comes first.
def release(session)
  LOCK.synchronize do
    order = ORDERS.find { |its| its.session == session }
    next if order.nil? || order.released.positive?

    order.released += 1
    puts "released #{session}"
  end
end

def browser_of(request)
  request.cookies.find { |its| its.name == "browser" }&.value
end

# The order of this browser with a session.
def order_of(request, session)
  browser = browser_of(request)
  LOCK.synchronize { ORDERS.find { |its| its.browser == browser && its.session == session } }
end

def buy(request, response)
  number = SecureRandom.uuid # one for each order
  session = create_session(number)
  order = Order.new(browser_of(request) || SecureRandom.uuid, number, session["session_id"], 0)
  LOCK.synchronize { ORDERS << order }
  response.status = 303
  response["Location"] = session["verification_url"]
  response["Set-Cookie"] = "browser=#{order.browser}; Path=/; HttpOnly; SameSite=Lax"
  response.body = JSON.generate(session_id: order.session, order: number) # for agegate-dev certify
end

def thanks(request, response)
  number = request.query_string.to_s[/(?:\A|&)order=([\w-]+)/, 1]
  order = LOCK.synchronize { ORDERS.find { |its| its.number == number } } # its session is never one from the address
  # By the webhook, or before this browser loaded the page again.
  released = order && order.browser == browser_of(request) && order.released.positive?
  if released || (order && redirect_proves?(request.query_string, order.session))
    release(order.session)
    response.body = "Released."
  else
    response.status = 403
    response.body = "Not verified."
  end
end

def webhook(request, response)
  event = event_of(request)
  response.status = event ? 204 : 400
  live = API_KEY.start_with?("svc_live_")
  release(event["session_id"]) if event && event["status"] == "VERIFIED" && event["is_adult"] == true &&
                                  event["livemode"] == live
end

# GET /orders/{session} looks the status up now; GET /orders/{session}/released, for agegate-dev certify, does not.
def orders(request, response)
  _, _, session, released = request.path.split("/")
  order = order_of(request, session.to_s)
  return response.status = 404 if order.nil?

  release(session) if released.nil? && passed?(session)
  response.body = JSON.generate(released: order.released)
end

server = WEBrick::HTTPServer.new(BindAddress: "localhost", Port: ENV.fetch("PORT").to_i, AccessLog: [])
{ ["POST", "/buy"] => :buy, ["GET", "/thanks"] => :thanks, ["POST", "/webhook"] => :webhook,
  ["GET", "/orders"] => :orders }.each do |(method, path), handler|
  server.mount_proc(path) do |request, response|
    next response.status = 405 if request.request_method != method

    send(handler, request, response)
  rescue RuntimeError, SystemCallError, Timeout::Error, OpenSSL::SSL::SSLError => e
    warn e.message # says the gateway's detail and the request's ID
    response.status = 502
    response.body = "Please try again."
  end
end
{ "/" => '<form method="post" action="/buy"><button>Buy</button></form>',
  "/cancelled" =>
    '<p>Your order is not paid. Age not confirmed? Write to us for another way. <a href="/">To the shop</a></p>' }
  .each do |path, html|
  server.mount_proc(path) do |request, response|
    response.content_type = "text/html; charset=utf-8"
    request.path == path ? response.body = html : response.status = 404
  end
end
trap("INT") { server.shutdown }
$stdout.sync = true
server.start
