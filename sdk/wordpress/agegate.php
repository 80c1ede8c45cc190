<?php
/**
 * Plugin Name: agegate
 * Description: Shows the site, or chosen parts of it, only to visitors whose age a gateway of agegate has confirmed.
 * Version: 0.1.0
 * Requires at least: 6.1
 * Requires PHP: 8.1
 * License: Apache-2.0
 * Text Domain: agegate
 */

declare(strict_types=1);

namespace Agegate\WordPress;

if (!defined("ABSPATH")) {
    exit;
}

require_once __DIR__ . "/redirect.php";
require_once __DIR__ . "/webhook.php";
require __DIR__ . "/pass.php";
require __DIR__ . "/gate.php";
require __DIR__ . "/settings.php";

/** What the owner has set, by name. */
function setting(string $name): mixed
{
    return (get_option("agegate") ?: [])[$name] ?? DEFAULTS[$name];
}

/** Whether passes are those of a live key, which nobody can force. */
function live(): bool
{
    return str_starts_with(setting("key"), "svc_live_");
}

/** Calls the gateway. Returns the status and the answer; without an answer, 0 and what the network says. */
function call(string $method, string $path, ?array $body = null, int $timeout = 15): array
{
    $answer = wp_remote_request(rtrim(setting("url"), "/") . $path, [
        "method" => $method, "timeout" => $timeout, "redirection" => 0, // a redirect would take the key elsewhere
        "headers" => ["X-API-Key" => setting("key")] + ($body === null ? [] : ["Content-Type" => "application/json"]),
        "body" => $body === null ? null : wp_json_encode($body, JSON_UNESCAPED_SLASHES),
    ]);
    if (is_wp_error($answer)) {
        return [0, ["detail" => $answer->get_error_message()]];
    }
    $out = json_decode(wp_remote_retrieve_body($answer), true);
    return [(int) wp_remote_retrieve_response_code($answer), is_array($out) ? $out : []];
}

/** The table of limits and of begun sessions: k names, n counts or is a state, until is when the row ends. */
function table(): string
{
    return $GLOBALS["wpdb"]->prefix . "agegate";
}

/** Makes what a site stores: the table, the secret of its passes and the hourly job. */
function install(): void
{
    $GLOBALS["wpdb"]->query("CREATE TABLE IF NOT EXISTS " . table()
        . " (k varchar(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL
        PRIMARY KEY, n int unsigned NOT NULL, user bigint unsigned NOT NULL DEFAULT 0,
            until bigint unsigned NOT NULL)");
    add_option("agegate_secret", bin2hex(random_bytes(32)));
    wp_next_scheduled("agegate_clean") || wp_schedule_event(time(), "hourly", "agegate_clean");
}

register_activation_hook(__FILE__, install(...));
// Activated for a network, each site makes its own at its first request, and loses it when the site is deleted.
add_action("plugins_loaded", fn() => get_option("agegate_secret") ?: install());
add_filter("wpmu_drop_tables", fn($tables) => [...$tables, table()]);
register_deactivation_hook(__FILE__, fn() => wp_clear_scheduled_hook("agegate_clean"));
add_action("agegate_clean", fn() => $GLOBALS["wpdb"]->query("DELETE FROM " . table() . " WHERE until < " . time()));

// WordPress reads such a file itself from 6.5 on. One German for Germany, Austria and Switzerland.
add_filter("gettext_agegate", function ($translated, $text) {
    static $german = null;
    if ($translated !== $text || !str_starts_with(determine_locale(), "de")) {
        return $translated;
    }
    $german ??= (require __DIR__ . "/languages/agegate-de_DE.l10n.php")["messages"];
    return $german[$text] ?? $translated;
}, 10, 2);
