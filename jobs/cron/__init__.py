"""Cron patterns: what one may write, which days and times it names, and when those come. PURE."""
