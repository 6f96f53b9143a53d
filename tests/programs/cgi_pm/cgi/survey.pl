#!/usr/bin/perl
# A form that shows itself again with what was filled in, as CGI.pm's users write them.
use strict;
use warnings;
use CGI ();

my $q = CGI->new;
print $q->header(-type => 'text/html', -charset => 'utf-8', -cookie => $q->cookie(-name => 'seen', -value => [ $q->param('name') // 'nobody' ]));
print $q->start_html(-title => 'A survey', -style => { -src => '/style.css' }),
    $q->h1('A survey'),
    $q->start_form(-action => $q->url(-relative => 1)),
    $q->textfield(-name => 'name', -size => 20),
    $q->popup_menu(-name => 'drink', -values => [qw(tea coffee water)], -default => 'coffee'),
    $q->checkbox_group(-name => 'days', -values => [qw(mon tue wed)], -linebreak => 1),
    $q->radio_group(-name => 'size', -values => [qw(small large)]),
    $q->textarea(-name => 'words', -rows => 3, -columns => 30),
    $q->hidden(-name => 'step', -default => 1),
    $q->submit(-name => 'send', -value => 'Send'),
    $q->end_form;

if ($q->param) {
    print $q->h2('What you said'), $q->dl(map { $q->dt($_), $q->dd($q->escapeHTML(join ', ', $q->multi_param($_))) } sort $q->param);
    print $q->p('Last time: ', $q->escapeHTML(scalar $q->cookie('seen') // 'nobody'));
}
print $q->p($q->request_method, $q->path_info, $q->url(-absolute => 1, -query => 1), $q->script_name, $q->self_url);
print $q->end_html;
