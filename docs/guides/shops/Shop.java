// A shop that sells one thing to adults, in Java 17 or newer with the library Gson: java -cp gson.jar Shop.java

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import com.google.gson.JsonPrimitive;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.URLDecoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.Executors;
import java.util.function.Predicate;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

import static java.nio.charset.StandardCharsets.UTF_8;

public class Shop {
    static final String API_KEY = System.getenv("AGEGATE_API_KEY");
    static final SecretKeySpec REDIRECT_KEY = keyOf("AGEGATE_REDIRECT_SECRET", "rdsec_(test|live)_");
    static final SecretKeySpec WEBHOOK_KEY = keyOf("AGEGATE_WEBHOOK_SECRET", "whsec_");

    static final class Order {
        String browser, number, session;
        volatile int released;
    }

    final List<Order> orders = new ArrayList<>(); // the newest first; a real shop has a database
    final HttpClient http = HttpClient.newBuilder().connectTimeout(Duration.ofSeconds(5)).build();

    public static void main(String[] args) throws IOException {
        Shop shop = new Shop();
        InetSocketAddress address = new InetSocketAddress("localhost", Integer.parseInt(System.getenv("PORT")));
        HttpServer server = HttpServer.create(address, 0);
        server.createContext("/", shop::answer);
        server.setExecutor(Executors.newFixedThreadPool(16));
        server.start();
    }

    void answer(HttpExchange exchange) throws IOException {
        try {
            String path = exchange.getRequestURI().getPath();
            switch (exchange.getRequestMethod() + " " + path.replaceFirst("^/orders/.*", "/orders")) {
                case "GET /" -> page(exchange, "<form method='post' action='/buy'><button>Buy</button></form>");
                case "POST /buy" -> buy(exchange);
                case "GET /thanks" -> thanks(exchange);
                case "GET /cancelled" -> page(exchange,
                    "<p>Your order is not paid. Age not confirmed? Write to us for another way."
                    + " <a href='/'>To the shop</a></p>");
                case "POST /webhook" -> webhook(exchange);
                case "GET /orders" -> order(exchange, path.split("/"));
                default -> send(exchange, 404, "");
            }
        } catch (IOException | InterruptedException | RuntimeException e) {
            System.err.println(e.getMessage()); // says the gateway's detail and the request's ID
            send(exchange, 502, "Please try again.");
        } finally {
            exchange.close();
        }
    }

    void buy(HttpExchange exchange) throws IOException, InterruptedException {
        String key = UUID.randomUUID().toString(); // one for each order
        String successURL = System.getenv("SHOP_URL") + "/thanks?order=" + key;
        HttpRequest.BodyPublisher body = HttpRequest.BodyPublishers.ofString(
            "{\"target_age\": 18, \"success_url\": \"" + successURL + "\"}");
        JsonObject created = call("create", request -> request.POST(body)
            .header("Content-Type", "application/json").header("Idempotency-Key", key));
        Order order = new Order();
        order.browser = browserOf(exchange).orElseGet(() -> UUID.randomUUID().toString());
        order.number = key;
        order.session = created.get("session_id").getAsString();
        synchronized (orders) {
            orders.add(0, order);
        }
        String cookie = "browser=" + order.browser + "; Path=/; HttpOnly; SameSite=Lax";
        exchange.getResponseHeaders().set("Location", created.get("verification_url").getAsString());
        exchange.getResponseHeaders().set("Set-Cookie", cookie);
        // The answer's body is for agegate-dev certify.
        send(exchange, 303, "{\"session_id\": \"" + order.session + "\", \"order\": \"" + key + "\"}");
    }

    void thanks(HttpExchange exchange) throws IOException {
        String query = Optional.ofNullable(exchange.getRequestURI().getRawQuery()).orElse("");
        Matcher number = Pattern.compile("(?:^|&)order=([^&]+)").matcher(query);
        // The order that the address names; its session is never one from the address.
        Order order = number.find() ? orderOf(its -> its.number.equals(number.group(1))) : null;
        // By the webhook, or before this browser loaded the page again.
        boolean released = order != null && isOwn(exchange, order) && order.released > 0;
        if (order == null || !released && !redirectProves(query, order.session)) {
            send(exchange, 403, "Not verified.");
            return;
        }
        release(order.session);
        send(exchange, 200, "Released.");
    }

    void webhook(HttpExchange exchange) throws IOException {
        byte[] body = exchange.getRequestBody().readAllBytes();
        if (!webhookVerifies(exchange, body)) {
            send(exchange, 400, "Not verified.");
            return;
        }
        JsonObject event = JsonParser.parseString(new String(body, UTF_8)).getAsJsonObject();
        boolean live = API_KEY.startsWith("svc_live_");
        if (event.get("status").getAsString().equals("VERIFIED") && event.get("is_adult").equals(new JsonPrimitive(true))
                && event.get("livemode").getAsBoolean() == live) {
            release(event.get("session_id").getAsString());
        }
        send(exchange, 204, "");
    }

    // GET /orders/{session} looks the status up now; GET /orders/{session}/released, for agegate-dev certify, does not.
    void order(HttpExchange exchange, String[] path) throws IOException, InterruptedException {
        Order order = path.length < 3 ? null : orderOf(its -> its.session.equals(path[2]));
        if (order == null || !isOwn(exchange, order)) {
            send(exchange, 404, "");
            return;
        }
        if (path.length == 3) {
            JsonObject state = call(order.session + "/status", HttpRequest.Builder::GET);
            if (state.get("status").getAsString().equals("PASSED")) {
                release(order.session);
            }
        }
        synchronized (orders) {
            send(exchange, 200, "{\"released\": " + order.released + "}");
        }
    }

    static Optional<String> browserOf(HttpExchange exchange) {
        String given = String.join("; ", exchange.getRequestHeaders().getOrDefault("Cookie", List.of()));
        return Pattern.compile("(?:^|; )browser=([^;]+)").matcher(given).results().findFirst().map(its -> its.group(1));
    }

    static boolean isOwn(HttpExchange exchange, Order order) {
        return browserOf(exchange).filter(order.browser::equals).isPresent();
    }

    Order orderOf(Predicate<Order> wanted) {
        synchronized (orders) {
            return orders.stream().filter(wanted).findFirst().orElse(null);
        }
    }

    // Ships an order once, whichever proof of its pass comes first.
    void release(String session) {
        synchronized (orders) {
            for (Order order : orders) {
                if (order.session.equals(session) && order.released == 0) {
                    order.released++;
                    System.out.println("released " + session);
                }
            }
        }
    }

    interface Change {
        HttpRequest.Builder to(HttpRequest.Builder request);
    }

    // Sends a request to the gateway. Every answer but a success is an error with the gateway's detail and the request's ID.
    JsonObject call(String path, Change change) throws IOException, InterruptedException {
        URI address = URI.create(System.getenv("AGEGATE_URL") + "/api/v1/sessions/" + path);
        HttpRequest request = change.to(HttpRequest.newBuilder(address).timeout(Duration.ofSeconds(15)))
            .header("X-API-Key", API_KEY).build();
        HttpResponse<String> answer = http.send(request, HttpResponse.BodyHandlers.ofString());
        if (answer.statusCode() / 100 != 2) {
            throw new IOException("The gateway answers " + answer.statusCode() + ": " + answer.body()
                + " (request " + answer.headers().firstValue("X-Request-ID").orElse("") + ")");
        }
        return JsonParser.parseString(answer.body()).getAsJsonObject();
    }

    // Whether a redirect to the Success URL proves the pass of the session that the shop created for this shopper.
    // The query is what follows the "?" of the address, as received.
    static boolean redirectProves(String rawQuery, String session) {
        Map<String, List<String>> query = new HashMap<>();
        for (String pair : rawQuery.split("&")) {
            String[] parts = pair.split("=", 2);
            String value = parts.length == 2 ? decode(parts[1]) : "";
            query.computeIfAbsent(decode(parts[0]), name -> new ArrayList<>()).add(value);
        }
        List<String> values = new ArrayList<>();
        for (String name : List.of("session", "status", "is_adult", "token")) {
            List<String> given = query.getOrDefault(name, List.of());
            if (given.size() != 1) {
                return false;
            }
            values.add(given.get(0));
        }
        Matcher token = Pattern.compile("([0-9]{1,15})\\..*").matcher(values.get(3));
        if (!token.matches()) {
            return false;
        }
        String expires = token.group(1);
        byte[] mac = mac(REDIRECT_KEY, (String.join("|", values.subList(0, 3)) + "|" + expires).getBytes(UTF_8));
        String wanted = expires + "." + Base64.getUrlEncoder().withoutPadding().encodeToString(mac);
        return MessageDigest.isEqual(wanted.getBytes(UTF_8), values.get(3).getBytes(UTF_8))
            && Instant.now().getEpochSecond() <= Long.parseLong(expires)
            && values.get(0).equals(session) && values.get(1).equals("VERIFIED") && values.get(2).equals("true");
    }

    static String decode(String text) {
        try {
            return URLDecoder.decode(text, UTF_8);
        } catch (IllegalArgumentException e) {
            return text; // a "%" that escapes nothing
        }
    }

    // Whether a webhook verifies. The body is the bytes as received.
    static boolean webhookVerifies(HttpExchange exchange, byte[] body) {
        String id = header(exchange, "webhook-id"), timestamp = header(exchange, "webhook-timestamp");
        if (!timestamp.matches("[0-9]{1,15}")
                || Math.abs(Instant.now().getEpochSecond() - Long.parseLong(timestamp)) > 300) {
            return false;
        }
        byte[] mac = mac(WEBHOOK_KEY, (id + "." + timestamp + ".").getBytes(UTF_8), body);
        String wanted = "v1," + Base64.getEncoder().encodeToString(mac);
        boolean verified = false;
        for (String given : header(exchange, "webhook-signature").split(" ")) {
            verified |= MessageDigest.isEqual(wanted.getBytes(UTF_8), given.getBytes(UTF_8));
        }
        return verified;
    }

    static String header(HttpExchange exchange, String name) {
        return String.join(", ", exchange.getRequestHeaders().getOrDefault(name, List.of()));
    }

    static byte[] mac(SecretKeySpec key, byte[]... parts) {
        try {
            Mac mac = Mac.getInstance("HmacSHA256");
            mac.init(key);
            for (byte[] part : parts) {
                mac.update(part);
            }
            return mac.doFinal();
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException(e); // every Java has it
        }
    }

    // The key of a secret. An empty or damaged one is refused: under it, anybody could sign.
    static SecretKeySpec keyOf(String variable, String prefix) {
        String secret = System.getenv().getOrDefault(variable, "");
        if (!secret.matches(prefix + "[A-Za-z0-9+/]{43}=")) { // 32 bytes
            throw new IllegalArgumentException(variable + " must be " + prefix + " and 32 bytes in base64");
        }
        return new SecretKeySpec(Base64.getDecoder().decode(secret.replaceFirst(prefix, "")), "HmacSHA256");
    }

    static void page(HttpExchange exchange, String html) throws IOException {
        exchange.getResponseHeaders().set("Content-Type", "text/html; charset=utf-8");
        send(exchange, 200, html);
    }

    static void send(HttpExchange exchange, int status, String text) throws IOException {
        exchange.sendResponseHeaders(status, text.isEmpty() ? -1 : text.getBytes(UTF_8).length);
        exchange.getResponseBody().write(text.getBytes(UTF_8));
    }
}
