#!/usr/bin/perl
# Shows a form of 25 fields, filled with what the request has sent.
use strict;
use warnings;
use CGI ();
my $form = CGI->new;
print $form->header('text/html; charset=utf-8'), $form->start_html('Form'), $form->start_form;
print map { $form->textfield(-name => $_, -size => 20) . "<br>\n" } 'a' .. 'y';
print $form->submit, $form->end_form, $form->end_html;
