<?php
// Removes what the plug-in has stored.
declare(strict_types=1);

defined("WP_UNINSTALL_PLUGIN") || exit;

foreach (is_multisite() ? get_sites(["fields" => "ids", "number" => 0]) : [0] as $site) {
    is_multisite() && switch_to_blog($site);
    global $wpdb;
    $wpdb->query("DROP TABLE IF EXISTS {$wpdb->prefix}agegate");
    delete_option("agegate");
    delete_option("agegate_secret");
    delete_metadata("user", 0, $wpdb->get_blog_prefix() . "agegate", "", true);
    is_multisite() && restore_current_blog();
}
